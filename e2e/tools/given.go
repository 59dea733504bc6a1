// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// versionPatience bounds how long a given binary may take to say its version.
const versionPatience = 20 * time.Second

// given returns the path of p in the folder of binaries that the user has already, "" when it is not there. The folder that is
// built into does not count.
func (b *builder) given(p part) string {
	if b.parts == "" || b.parts == b.bin || p.pkg == "" {
		return ""
	}
	path := filepath.Join(b.parts, p.name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// givenPrint is the fingerprint of a given binary: another file has another one.
func givenPrint(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("given %s %d %s", path, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)), nil
}

// take puts a link to a given binary where p belongs, and says which version it is.
func (b *builder) take(ctx context.Context, p part, path, print string, m *meter) error {
	if err := errors.Join(os.MkdirAll(b.scratch(), dirMode), os.RemoveAll(b.stampFile(p))); err != nil {
		return err
	}
	unfinished := filepath.Join(b.scratch(), p.name)
	if err := os.Symlink(path, unfinished); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := b.put(p, unfinished, print); err != nil {
		return err
	}
	m.finish(fmt.Sprintf("%s is used: %s", path, saidVersion(ctx, path)))
	return nil
}

// saidVersion returns the first line that a binary answers to --version, or that it does not answer.
func saidVersion(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return "it does not say its version"
	}
	return line
}
