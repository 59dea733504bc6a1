// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	parts := []part{{name: "a", groups: []string{"x"}}, {name: "b", groups: []string{"x", "y"}}, {name: "c"}}
	for reason, c := range map[string]struct{ names, want []string }{
		"no name means everything":                           {want: []string{"a", "b", "c"}},
		"the group of everything has parts of no group too":  {names: []string{"all"}, want: []string{"a", "b", "c"}},
		"a group stands for its parts":                       {names: []string{"x"}, want: []string{"a", "b"}},
		"a part stands for itself":                           {names: []string{"c"}, want: []string{"c"}},
		"a part named twice is built once, in catalog order": {names: []string{"y", "x", "b"}, want: []string{"a", "b"}},
	} {
		got, err := resolve(parts, c.names)
		if err != nil || !slices.Equal(partNames(got), c.want) {
			t.Errorf("%s: got %v (%v), want %v", reason, partNames(got), err, c.want)
		}
	}
	_, err := resolve(catalog(), []string{"flet"})
	if err == nil || !strings.Contains(err.Error(), `"flet"`) || !strings.Contains(err.Error(), "fleet") || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("an unknown name does not list the known ones: %v", err)
	}
}

// The catalog has no typing error that would break a build without notice.
func TestCatalog(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range catalog() {
		if seen[p.name] {
			t.Errorf("%s is listed twice", p.name)
		}
		seen[p.name] = true
		if (p.pkg == "") == (len(p.copies) == 0) {
			t.Errorf("%s needs either a package or files to copy", p.name)
		}
		if len(p.groups) == 0 {
			t.Errorf("%s is in no group, so no make target asks for it", p.name)
		}
		if _, err := hash(".", p, "go"); err != nil {
			t.Errorf("%s has no complete tool module: %v", p.name, err)
		}
		if p.pkg == "" {
			continue
		}
		goMod, err := os.ReadFile(filepath.Join(p.module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if p.pkg != "." && !strings.Contains(string(goMod), p.pkg+"\n") {
			t.Errorf("%s/go.mod has no tool %s", p.module, p.pkg)
		}
		if flags, err := linkerFlags(p, string(goMod)); err != nil || strings.ContainsAny(flags, "{}") {
			t.Errorf("%s: linker flags %q: %v", p.name, flags, err)
		}
	}
	for _, group := range []string{"test", "fleet", "bench", "old", "lint", "generate", "deploy", "scan", "sign"} {
		if _, err := resolve(catalog(), []string{group}); err != nil {
			t.Errorf("the Makefile names the group %s: %v", group, err)
		}
	}
}

func TestLinkerFlags(t *testing.T) {
	const goMod = "module m\n\nrequire example.org/alone v1.2.3\n\nrequire (\n\texample.org/k v1.34.4\n\texample.org/k/sub v0.1.0 // indirect\n)\n\n" +
		"replace example.org/k => example.org/other v9.9.9\n"
	for module, want := range map[string]string{
		"": "-s -w ", "example.org/alone": "-s -w 1.2.3 1 2", "example.org/k": "-s -w 1.34.4 1 34", "example.org/k/sub": "-s -w 0.1.0 0 1",
	} {
		if got, err := linkerFlags(part{versionOf: module, ldflags: "{version} {major} {minor}"}, goMod); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", module, got, err, want)
		}
	}
	if got, err := linkerFlags(part{versionOf: "example.org/none"}, goMod); err == nil {
		t.Errorf("a module that is not required has linker flags %q", got)
	}
	if got := neutralFlags("-race -p=2 -tags=x -modcacherw"); got != "-p=2 -modcacherw" {
		t.Errorf("kept %q of GOFLAGS: only what does not change the binary may stay", got)
	}
}
