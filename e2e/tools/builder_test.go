// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// rig is a builder with a tool module of one program, and a folder for existing binaries of a user.
type rig struct {
	root, bin, parts string
	part             part
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{root: t.TempDir(), bin: t.TempDir(), parts: t.TempDir(), part: part{name: "tool", module: "m", pkg: "."}}
	write(t, filepath.Join(r.root, "m", "go.mod"), "module example.org/m\n\ngo 1.26.0\n")
	write(t, filepath.Join(r.root, "m", "go.sum"), "")
	write(t, filepath.Join(r.root, "m", "main.go"), "package main\n\nfunc main() { println(\"first\") }\n")
	return r
}

// run runs the builder and returns its messages.
func (r *rig) run(t *testing.T) (string, error) {
	t.Helper()
	var out bytes.Buffer
	b, err := newBuilder(r.root, r.bin, r.parts, &out)
	if err != nil {
		t.Fatal(err)
	}
	err = b.run(t.Context(), []part{r.part})
	if left, _ := os.ReadDir(b.scratch()); len(left) > 0 {
		t.Errorf("the scratch folder is left with %v", left)
	}
	return out.String(), err
}

func TestBuilder_buildsWhatIsNotCurrent(t *testing.T) {
	r := newRig(t)
	module, tool := filepath.Join(r.root, "m"), filepath.Join(r.bin, "tool")
	for _, step := range []struct {
		reason string
		change func()
		built  bool
	}{
		{"it is not there", func() {}, true},
		{"nothing changed", func() {}, false},
		{"a time stamp is no content", func() {
			if err := os.Chtimes(filepath.Join(module, "go.mod"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"tests are not in the binary", func() { write(t, filepath.Join(module, "main_test.go"), "package main") }, false},
		{"other modules have no part in it", func() { write(t, filepath.Join(r.root, "n", "go.mod"), "module n") }, false},
		{"the program changed", func() {
			write(t, filepath.Join(module, "main.go"), "package main\n\nfunc main() { println(\"second\") }\n")
		}, true},
		{"a source was added", func() { write(t, filepath.Join(module, "more.go"), "package main\n") }, true},
		{"go.sum pins content", func() {
			write(t, filepath.Join(module, "go.sum"), "example.org/x v1.0.0/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n")
		}, true},
		{"flags are part of the recipe", func() { r.part.tags = "x" }, true},
		{"the file was cut short", func() { write(t, tool, "x") }, true},
		{"it was lost", func() { _ = os.Remove(tool) }, true},
		{"it was not finished", func() { _ = os.Remove(filepath.Join(r.bin, ".stamps", "tool")) }, true},
	} {
		step.change()
		said, err := r.run(t)
		if err != nil || strings.Contains(said, "built in") != step.built {
			t.Fatalf("%s: built %t wanted, wrote %q (%v)", step.reason, step.built, said, err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), tool).CombinedOutput(); err != nil || string(out) != "second\n" {
		t.Errorf("the tool says %q (%v)", out, err)
	}
}

func TestBuilder_reportsCompilerErrors(t *testing.T) {
	r := newRig(t)
	write(t, filepath.Join(r.root, "m", "main.go"), "package main\n\nfunc main() { undefined() }\n")
	if said, err := r.run(t); err == nil || !strings.Contains(err.Error(), "main.go:3:15: undefined: undefined") || !strings.Contains(said, "failed") {
		t.Errorf("wrote %q, %v", said, err)
	}
	if err := os.Remove(filepath.Join(r.root, "m", "go.sum")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.run(t); err == nil {
		t.Error("a module without go.sum pins nothing, yet it was built from")
	}
}

// The builder links an existing binary of the user instead of building it, again when the binary changes.
func TestBuilder_usesGivenBinaries(t *testing.T) {
	r := newRig(t)
	r.part.pkg = "example.org/cannot/be/built"
	have := filepath.Join(r.parts, "tool")
	for _, step := range []struct{ version, want string }{{"v1", have + " is used: tool v1"}, {"", "current: tool"}, {"v1.1", have + " is used: tool v1.1"}} {
		if step.version != "" {
			write(t, have, "#!/bin/sh\necho tool "+step.version+"\n")
		}
		if said, err := r.run(t); err != nil || !strings.Contains(said, step.want) {
			t.Errorf("wrote %q (%v), want %q", said, err, step.want)
		}
	}
	if target, err := os.Readlink(filepath.Join(r.bin, "tool")); err != nil || target != have {
		t.Errorf("bin/tool leads to %q (%v), not to %s", target, err, have)
	}
	b, err := newBuilder(r.root, r.bin, r.bin, nil)
	if err != nil || b.given(r.part) != "" {
		t.Errorf("the folder that is built into was taken for one of given binaries (%v)", err)
	}
}

func TestEdit(t *testing.T) {
	e := edit{module: "example.org/m", file: "a.go", old: `"0.0.0.0"`, new: `"127.0.0.1"`}
	for source, want := range map[string]string{
		`listen("0.0.0.0")`: `listen("127.0.0.1")`,
		// If a version does not contain the text, or contains it twice, a person has to check the edit.
		`listen(addr)`: "", `listen("0.0.0.0"); print("0.0.0.0")`: "",
	} {
		if got, err := e.apply(source); got != want || (err == nil) != (want != "") {
			t.Errorf("%s became %q, %v", source, got, err)
		}
	}
}

func TestProgress(t *testing.T) {
	p := &progress{}
	for _, step := range []struct {
		reason, text string
		compiled     int
	}{
		{"downloads are neither packages nor errors", "go: downloading example.org/a v1.0.0\ngo: downloading example.org/b v1.0.0\n", 0},
		{"each package is one line", "example.org/a\nexample.org/b\n", 2},
		{"half a line is no package yet", "example.org/", 2},
		{"the other half makes it one", "c\n", 3},
		{"errors are not counted", strings.Repeat("early: noise\n", keptLines) + "# example.org/a\na.go:3:1: undefined: x\n", 3},
	} {
		if n, err := p.Write([]byte(step.text)); n != len(step.text) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
		if p.compiled != step.compiled {
			t.Errorf("%s: %d, want %d", step.reason, p.compiled, step.compiled)
		}
	}
	if said := p.messages(); !strings.HasSuffix(said, "# example.org/a\n    a.go:3:1: undefined: x") || len(p.kept) != keptLines {
		t.Errorf("the errors are not what is left: %q", said)
	}
}
