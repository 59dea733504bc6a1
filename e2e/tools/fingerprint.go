// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// fingerprint identifies everything that decides the result of a part's build: its flags, the compiler, and
// the content of the tool modules that pin it. It ignores time stamps, so a fresh checkout of the same
// content has the same fingerprint. The fingerprint of a binary that the user provides depends on the
// binary's path, size and time.
func (b *builder) fingerprint(ctx context.Context, p part) (_ string, err error) {
	defer must.Return(&err)
	if path := b.given(p); path != "" {
		info := must.Get(os.Stat(path))
		return fmt.Sprintf("given %s %d %s", path, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), nil
	}
	toolchain := ""
	for _, module := range p.modules() {
		about := must.Get(b.toolchain(ctx, module))
		toolchain += about
	}
	return hash(b.root, p, toolchain)
}

// toolchain returns the Go version and platform of a tool module's builds.
func (b *builder) toolchain(ctx context.Context, module string) (string, error) {
	if known, ok := b.toolchains[module]; ok {
		return known, nil
	}
	about, err := b.goCommand(ctx, module, nil, "env", "GOVERSION", "GOOS", "GOARCH")
	if err == nil {
		b.toolchains[module] = string(about)
	}
	return string(about), err
}

// hash returns the hash of a part's recipe and of its tool modules: go.mod, go.sum, and Go files without
// tests. It returns an error without go.mod or go.sum, because such a module pins nothing.
func hash(root string, p part, toolchain string) (_ string, err error) {
	defer must.Return(&err)
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%+v %q %q\n", p, p.flags(), toolchain) // a hash never fails to write
	for _, module := range p.modules() {
		dir := filepath.Join(root, module)
		files := must.Get(filepath.Glob(filepath.Join(dir, "*.go")))
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		for _, file := range append(files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")) {
			content := must.Get(os.ReadFile(file))
			_, _ = fmt.Fprintf(sum, "%q %q\n", filepath.Base(file), content) // as above
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
