// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the user has already is linked into place, its version said, and the next run finds it current until it changes.
func TestGivenPart(t *testing.T) {
	have, bin := t.TempDir(), t.TempDir()
	tool := filepath.Join(have, "tool")
	script := func(version string) {
		t.Helper()
		if err := os.WriteFile(tool, []byte("#!/bin/sh\necho tool "+version+"\n"), 0o755); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	run := func() string {
		t.Helper()
		var out bytes.Buffer
		b := newBuilder(t.TempDir(), bin, &out) // there is no tool module: building would fail
		b.parts = have
		if err := b.run(t.Context(), []part{{name: "tool", module: "m", pkg: "example.org/tool"}}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, step := range []struct{ version, want, reason string }{
		{"v1", tool + " is used: tool v1", "the first run"},
		{"", "current: tool", "nothing changed"},
		{"v1.1", tool + " is used: tool v1.1", "another binary is there"},
	} {
		if step.version != "" {
			script(step.version)
		}
		if said := run(); !strings.Contains(said, step.want) {
			t.Errorf("%s: said %q, want %q", step.reason, said, step.want)
		}
	}
	if target, err := os.Readlink(filepath.Join(bin, "tool")); err != nil || target != tool {
		t.Errorf("bin/tool leads to %q (%v), not to %s", target, err, tool)
	}
}

func TestNotGiven(t *testing.T) {
	bin := t.TempDir()
	write(t, bin, map[string]string{"tool": "built"})
	for reason, c := range map[string]struct {
		parts string
		p     part
	}{
		"no folder is given":            {parts: "", p: part{name: "tool", pkg: "p"}},
		"the folder that is built into": {parts: bin, p: part{name: "tool", pkg: "p"}},
		"files are copied, never given": {parts: filepath.Dir(bin), p: part{name: filepath.Base(bin)}},
		"the folder does not have it":   {parts: t.TempDir(), p: part{name: "tool", pkg: "p"}},
		"a folder is no binary":         {parts: filepath.Dir(bin), p: part{name: filepath.Base(bin), pkg: "p"}},
	} {
		b := newBuilder(".", bin, nil)
		b.parts = c.parts
		if path := b.given(c.p); path != "" {
			t.Errorf("%s: %s was taken", reason, path)
		}
	}
}
