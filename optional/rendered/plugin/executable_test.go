// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	maxSize = 15 << 20
	// maxStart is a multiple of the start time of a program that does nothing.
	maxStart = 10
)

// The executable must be small, because Argo CD starts it for each Application and commit.
func TestExecutable_isSmall(t *testing.T) {
	info, err := os.Stat(plugin)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxSize {
		t.Errorf("the executable has %d bytes, want at most %d", info.Size(), maxSize)
	}
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(deps)) {
		if strings.HasPrefix(dep, "k8s.io/client-go") || strings.HasPrefix(dep, "sigs.k8s.io/controller-runtime") {
			t.Errorf("the executable links %s", dep)
		}
	}
}

// Other processes slow down some starts, so the test takes the quickest of several. It compares the
// executable with a program that does nothing, because machines differ in speed.
func TestExecutable_startsQuickly(t *testing.T) {
	nothing := emptyProgram(t)
	var quickest, least time.Duration
	for range 20 {
		out, took, err := start(t, plugin, "generate")
		quickest = quicker(quickest, took)
		if err == nil || !bytes.HasPrefix(out, []byte("ARGOCD_APP_NAME: want")) {
			t.Fatalf("it did not come to where it reads its environment: %s", out)
		}
		if out, took, err = start(t, nothing); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		least = quicker(least, took)
	}
	if quickest > maxStart*least {
		t.Errorf("it starts in %s, want at most %d times the %s of a program that does nothing", quickest, maxStart, least)
	}
}

func start(t *testing.T, path string, arguments ...string) (out []byte, took time.Duration, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), path, arguments...)
	command.Env = []string{}
	begin := time.Now()
	out, err = command.CombinedOutput()
	return out, time.Since(begin), err
}

func quicker(before, now time.Duration) time.Duration {
	if before == 0 {
		return now
	}
	return min(before, now)
}

func emptyProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-o", "nothing", "main.go")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "nothing")
}

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second run replaces the executable
		if out, err := exec.CommandContext(t.Context(), plugin, "install", dir).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Collect(func(yield func(string) bool) {
		for _, e := range entries {
			yield(e.Name())
		}
	}); !slices.Equal(names, []string{"plugin"}) {
		t.Errorf("the folder holds %q", names)
	}
	if out, _ := exec.CommandContext(t.Context(), filepath.Join(dir, "plugin"), "generate").CombinedOutput(); !bytes.HasPrefix(out, []byte("ARGOCD_APP_NAME: want")) {
		t.Errorf("the copy does not run: %s", out)
	}
	if info, err := os.Stat(filepath.Join(dir, "plugin")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("others cannot run the copy: %v %v", info.Mode(), err)
	}
	if out, err := exec.CommandContext(t.Context(), plugin, "install", filepath.Join(dir, "missing")).CombinedOutput(); err == nil || !bytes.HasPrefix(out, []byte("install into ")) {
		t.Errorf("into a folder that is not there: %v %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), plugin, "Install").CombinedOutput(); err == nil || string(out) != usage+"\n" {
		t.Errorf("an unknown verb: %v %s", err, out)
	}
}
