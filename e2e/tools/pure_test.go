// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestEditApply(t *testing.T) {
	e := edit{module: "example.org/m", file: "a.go", old: `"0.0.0.0"`, new: `"127.0.0.1"`}
	cases := map[string]struct {
		reason, source, want string
		fails                bool
	}{
		"once":  {reason: "the text gives way", source: `listen("0.0.0.0")`, want: `listen("127.0.0.1")`},
		"never": {reason: "a version without the text needs another look", source: `listen(addr)`, fails: true},
		"twice": {reason: "a second place may mean something else", source: `listen("0.0.0.0"); print("0.0.0.0")`, fails: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := e.apply(c.source)
			if (err != nil) != c.fails {
				t.Fatalf("%s: error %v", c.reason, err)
			}
			if got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

func TestPinned(t *testing.T) {
	const goMod = `module m

require example.org/alone v1.2.3

require (
	example.org/k v1.34.4
	example.org/k/sub v0.1.0 // indirect
)

replace example.org/k => example.org/other v9.9.9
`
	for module, want := range map[string]string{"example.org/alone": "1.2.3", "example.org/k": "1.34.4", "example.org/k/sub": "0.1.0"} {
		if got, err := pinned(goMod, module); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", module, got, err, want)
		}
	}
	if got, err := pinned(goMod, "example.org/none"); err == nil {
		t.Errorf("a module that is not required has version %q", got)
	}
}

func TestWithVersion(t *testing.T) {
	got, err := withVersion("-X a=v{version} -X b={major} -X c={minor}", "1.34.4")
	if want := "-X a=v1.34.4 -X b=1 -X c=34"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := withVersion("{minor}", "1"); err == nil {
		t.Error("a version without a minor was accepted")
	}
}

func TestGoOutput(t *testing.T) {
	var last string
	o := &goOutput{main: "example.org/cmd", total: 4, report: func(text string) { last = text }}
	say := func(text string) {
		t.Helper()
		if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	steps := []struct{ reason, text, want string }{
		{"downloads come first", "go: downloading example.org/a v1.0.0\ngo: downloading example.org/b v1.0.0\n", "2 modules downloaded"},
		{"each package is one line", "example.org/a\nexample.org/b\n", "2 of 4 packages compiled"},
		{"half a line is no package yet", "example.org/", "2 of 4 packages compiled"},
		{"the other half makes it one", "c\n", "3 of 4 packages compiled"},
		{"errors are not counted", "# example.org/a\na.go:3:1: undefined: x\n", "3 of 4 packages compiled"},
		{"after the main package only linking is left", "example.org/cmd\n", "4 of 4 packages compiled, linking"},
	}
	for _, step := range steps {
		say(step.text)
		if last != step.want {
			t.Errorf("%s: says %q, want %q", step.reason, last, step.want)
		}
	}
	said := o.lastLines()
	if !strings.Contains(said, "# example.org/a\n    a.go:3:1: undefined: x") || strings.Contains(said, "downloading") {
		t.Errorf("the errors are not what is left: %q", said)
	}
}

func TestGoOutputKeepsTheEnd(t *testing.T) {
	o := &goOutput{}
	for range keptLines {
		o.line("early: noise")
	}
	o.line("late: the reason")
	if len(o.kept) != keptLines || !strings.HasSuffix(o.lastLines(), "late: the reason") {
		t.Errorf("kept %d lines, ending %q", len(o.kept), o.lastLines())
	}
}

func TestNeutralFlags(t *testing.T) {
	if got := neutralFlags("-race -p=2 -tags=x -modcacherw"); got != "-p=2 -modcacherw" {
		t.Errorf("kept %q: only what does not change the binary may stay", got)
	}
}
