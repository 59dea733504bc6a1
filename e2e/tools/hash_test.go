// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// write puts files, by name, into dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), fileMode); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := part{name: "x", module: "m", pkg: "example.org/x"}
	cases := map[string]struct {
		reason    string
		change    func(t *testing.T, root string, p *part)
		toolchain string
		same      bool
	}{
		"touched": {reason: "a time stamp is no content", same: true, change: func(t *testing.T, root string, _ *part) {
			t.Helper()
			if err := os.Chtimes(filepath.Join(root, "m", "go.mod"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}},
		"its tests":      {reason: "tests are not in the binary", same: true, change: adds("m/main_test.go", "package main")},
		"another module": {reason: "other modules are none of its business", same: true, change: adds("n/go.mod", "module n")},
		"go.mod":         {reason: "go.mod pins versions", change: adds("m/go.mod", "module m // v2")},
		"go.sum":         {reason: "go.sum pins content", change: adds("m/go.sum", "other")},
		"source":         {reason: "the module's own program changed", change: adds("m/main.go", "package main // v2")},
		"new source":     {reason: "a file was added", change: adds("m/more.go", "package main")},
		"toolchain":      {reason: "another compiler makes another binary", toolchain: "go2"},
		"linker flags":   {reason: "flags are part of the recipe", change: func(_ *testing.T, _ string, p *part) { p.ldflags = "-X a.b=c" }},
		"edit":           {reason: "so is an edit", change: func(_ *testing.T, _ string, p *part) { p.edit = &edit{old: "a", new: "b"} }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root, p, toolchain := t.TempDir(), base, "go1"
			write(t, root, map[string]string{"m/go.mod": "module m", "m/go.sum": "", "m/main.go": "package main"})
			before, err := fingerprint(root, p, toolchain)
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(t, root, &p)
			}
			if c.toolchain != "" {
				toolchain = c.toolchain
			}
			after, err := fingerprint(root, p, toolchain)
			if err != nil {
				t.Fatal(err)
			}
			if (before == after) != c.same {
				t.Errorf("%s: same fingerprint: %v, want %v", c.reason, before == after, c.same)
			}
		})
	}
}

func adds(name, content string) func(*testing.T, string, *part) {
	return func(t *testing.T, root string, _ *part) {
		t.Helper()
		write(t, root, map[string]string{name: content})
	}
}

func TestFingerprintNeedsGoSum(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"m/go.mod": "module m"})
	if _, err := fingerprint(root, part{name: "x", module: "m"}, "go1"); err == nil {
		t.Error("a module without go.sum pins nothing, yet it got a fingerprint")
	}
}

func TestCurrent(t *testing.T) {
	cases := map[string]struct {
		reason string
		change map[string]string
		remove string
		print  string
		want   bool
	}{
		"untouched":      {reason: "nothing changed", print: "p1", want: true},
		"other inputs":   {reason: "it was made from something else", print: "p2"},
		"lost file":      {reason: "a file is gone", print: "p1", remove: "out/b.yaml"},
		"lost part":      {reason: "all of it is gone", print: "p1", remove: "out"},
		"never stamped":  {reason: "a part without a stamp was not finished", print: "p1", remove: "stamp"},
		"cut short":      {reason: "a file has another size", print: "p1", change: map[string]string{"out/a.yaml": "a"}},
		"one file extra": {reason: "somebody put a file there", print: "p1", change: map[string]string{"out/c.yaml": "c"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			output, file := filepath.Join(dir, "out"), filepath.Join(dir, "stamp")
			write(t, dir, map[string]string{"out/a.yaml": "aaaa", "out/b.yaml": "bb"})
			text, err := stamp("p1", output)
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, map[string]string{"stamp": text})
			write(t, dir, c.change)
			if c.remove != "" {
				if err := os.RemoveAll(filepath.Join(dir, c.remove)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := current(file, c.print, output)
			if err != nil || got != c.want {
				t.Errorf("%s: current %v, %v, want %v", c.reason, got, err, c.want)
			}
		})
	}
}
