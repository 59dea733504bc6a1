// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fingerprint returns the hash of everything that decides what a part looks like: how it is built, with which compiler, and
// the content of the tool modules that pin it. root is the folder that holds the tool modules, toolchain names the compiler
// and platform. Time stamps have no say: a fresh checkout of the same content has the same fingerprint.
func fingerprint(root string, p part, toolchain string) (string, error) {
	sum := sha256.New()
	field(sum, "recipe", p.recipe())
	field(sum, "toolchain", toolchain)
	for _, module := range p.modules() {
		files, err := moduleFiles(filepath.Join(root, module))
		if err != nil {
			return "", fmt.Errorf("fingerprint %s: %w", p.name, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("fingerprint %s: %w", p.name, err)
			}
			field(sum, module+"/"+filepath.Base(file), string(content))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// moduleFiles lists go.mod, go.sum and the Go files of one tool module, tests left out, sorted. Both go.mod and go.sum have to
// exist: a module without them pins nothing.
func moduleFiles(dir string) ([]string, error) {
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	sources = slices.DeleteFunc(sources, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	return append([]string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")}, sources...), nil
}

// field adds a named value so that no two different lists of fields give the same bytes.
func field(h hash.Hash, name, value string) {
	// A hash never fails to write
	_, _ = io.WriteString(h, fmt.Sprintf("%d %s %d %s\n", len(name), name, len(value), value))
}
