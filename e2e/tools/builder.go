// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// run builds the parts that are not current, one after another, and stops at the first that fails. It waits while another
// builder works on the same folder.
func (b *builder) run(ctx context.Context, parts []part) (err error) {
	if err := os.MkdirAll(filepath.Join(b.bin, ".stamps"), dirMode); err != nil {
		return err
	}
	release, err := lock(ctx, filepath.Join(b.bin, ".lock"), func() {
		say(b.out, "waiting for another build in this checkout\n")
	})
	if err != nil {
		return err
	}
	defer release()
	// A builder that was killed may have left something.
	if err := b.clean(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.clean()) }()
	prints := make(map[string]string, len(parts))
	stale := 0
	for _, p := range parts {
		print, isCurrent, err := b.inspect(ctx, p)
		if err != nil {
			return err
		}
		if !isCurrent {
			prints[p.name] = print
			stale++
		}
	}
	if stale == 0 {
		say(b.out, "current: %s\n", strings.Join(partNames(parts), " "))
		return nil
	}
	defer b.downloadAhead(ctx, slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return prints[p.name] == "" }))()
	for i, p := range parts {
		m := newMeter(b.out, fmt.Sprintf("[%d/%d] %-24s", i+1, len(parts), p.name))
		print, isStale := prints[p.name]
		if !isStale {
			m.finish("current")
			continue
		}
		if err := b.make(ctx, p, print, m); err != nil {
			if ctx.Err() != nil {
				m.finish("stopped")
				return ctx.Err()
			}
			m.finish("failed")
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (b *builder) clean() error {
	return errors.Join(os.RemoveAll(b.scratch()), os.RemoveAll(b.sources()))
}

// inspect returns the fingerprint that p would have now, and whether what lies in bin has it.
func (b *builder) inspect(ctx context.Context, p part) (print string, isCurrent bool, err error) {
	if path := b.given(p); path != "" {
		print, err = givenPrint(path)
		if err != nil {
			return "", false, err
		}
		isCurrent, err = current(b.stampFile(p), print, b.output(p))
		return print, isCurrent, err
	}
	var toolchain strings.Builder
	for _, module := range p.modules() {
		about, err := b.toolchain(ctx, module)
		if err != nil {
			return "", false, fmt.Errorf("%s: %w", p.name, err)
		}
		toolchain.WriteString(about)
	}
	print, err = fingerprint(b.root, p, toolchain.String())
	if err != nil {
		return "", false, err
	}
	isCurrent, err = current(b.stampFile(p), print, b.output(p))
	return print, isCurrent, err
}

// make builds p in the scratch folder, moves it to its place in one step and stamps it with its fingerprint.
func (b *builder) make(ctx context.Context, p part, print string, m *meter) error {
	if path := b.given(p); path != "" {
		return b.take(ctx, p, path, print, m)
	}
	m.start()
	before := b.processor
	if err := os.MkdirAll(b.scratch(), dirMode); err != nil {
		return err
	}
	unfinished := filepath.Join(b.scratch(), p.name)
	var err error
	if p.pkg == "" {
		err = b.copyFiles(ctx, p, unfinished, m)
	} else {
		err = b.goBuild(ctx, p, unfinished, m)
	}
	if err != nil {
		return err
	}
	// Without its stamp the part is not current, whatever happens between here and the next one.
	if err := os.RemoveAll(b.stampFile(p)); err != nil {
		return err
	}
	if p.pkg == "" { // a folder cannot be renamed over one that has files
		if err := os.RemoveAll(b.output(p)); err != nil {
			return err
		}
	}
	if err := b.put(p, unfinished, print); err != nil {
		return err
	}
	bytes, err := size(b.output(p))
	if err != nil {
		return err
	}
	m.finish(fmt.Sprintf("built in %s, %s of processor time, %.1f MB",
		m.elapsed(), (b.processor - before).Round(time.Second), float64(bytes)/1e6))
	return nil
}
