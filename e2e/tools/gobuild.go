// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// goBuild builds p into the file target, telling m how far it is.
func (b *builder) goBuild(ctx context.Context, p part, target string, m *meter) error {
	dir := filepath.Join(b.root, p.module)
	flags, err := linkerFlags(dir, p)
	if err != nil {
		return err
	}
	args := append(p.flags(), "-ldflags="+flags)
	if p.edit != nil {
		m.update("copying " + p.edit.module)
		modfile, err := b.editedModule(ctx, p)
		if err != nil {
			return err
		}
		args = append(args, "-modfile="+modfile)
	}
	watch := &goOutput{main: p.pkg, report: m.update}
	if watch.total, err = b.stalePackages(ctx, dir, watch, append(args, p.pkg)); err != nil {
		return err
	}
	return b.goCommand(ctx, dir, io.Discard, watch, slices.Concat([]string{"build", "-o", target}, args, []string{p.pkg})...)
}

// stalePackages counts the packages that the go command would compile for a build with args, downloading what they need.
func (b *builder) stalePackages(ctx context.Context, dir string, watch *goOutput, args []string) (int, error) {
	var out bytes.Buffer
	list := slices.Concat([]string{"list", "-deps", "-f={{if .Stale}}{{.ImportPath}}{{end}}"}, args)
	err := b.goCommand(ctx, dir, &out, watch, list...)
	return len(strings.Fields(out.String())), err
}

// linkerFlags returns the linker flags of p: no symbol tables, which nobody reads and which are a third of the size, and the
// version, where p reports one.
func linkerFlags(dir string, p part) (string, error) {
	if p.versionOf == "" {
		return "-s -w", nil
	}
	goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	version, err := pinned(string(goMod), p.versionOf)
	if err != nil {
		return "", err
	}
	stamped, err := withVersion(p.ldflags, version)
	return "-s -w " + stamped, err
}
