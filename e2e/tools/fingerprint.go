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
)

// fingerprint stands for everything that decides what a part looks like: how it is built, with which compiler, and the content
// of the tool modules that pin it. Time stamps have no say: a fresh checkout of the same content has the same one. That of a
// binary that the user has is of its file.
func (b *builder) fingerprint(ctx context.Context, p part) (string, error) {
	if path := b.given(p); path != "" {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("given %s %d %s", path, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), nil
	}
	toolchain := ""
	for _, module := range p.modules() {
		about, err := b.toolchain(ctx, module)
		if err != nil {
			return "", err
		}
		toolchain += about
	}
	return hash(b.root, p, toolchain)
}

// toolchain names the Go version and platform that a tool module is built with.
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

// hash is that of a part's recipe and of the content of its tool modules: go.mod and go.sum, without which a module pins
// nothing, and Go files, tests left out.
func hash(root string, p part, toolchain string) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%+v %q %q\n", p, p.flags(), toolchain) // a hash never fails to write
	for _, module := range p.modules() {
		dir := filepath.Join(root, module)
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return "", err
		}
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		for _, file := range append(files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")) {
			content, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			_, _ = fmt.Fprintf(sum, "%q %q\n", filepath.Base(file), content) // as above
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
