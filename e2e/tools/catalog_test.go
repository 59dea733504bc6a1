// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	parts := []part{
		{name: "a", groups: []string{"x"}},
		{name: "b", groups: []string{"x", "y"}},
		{name: "c"},
	}
	cases := map[string]struct {
		reason string
		names  []string
		want   []string
	}{
		"nothing named": {reason: "no name means everything", want: []string{"a", "b", "c"}},
		"all":           {reason: "the group of everything has parts of no group too", names: []string{"all"}, want: []string{"a", "b", "c"}},
		"group":         {reason: "a group stands for its parts", names: []string{"x"}, want: []string{"a", "b"}},
		"part":          {reason: "a part stands for itself", names: []string{"c"}, want: []string{"c"}},
		"overlap":       {reason: "a part named twice is built once, in catalog order", names: []string{"y", "x", "b"}, want: []string{"a", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := resolve(parts, c.names)
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if !slices.Equal(partNames(got), c.want) {
				t.Errorf("%s: got %v, want %v", c.reason, partNames(got), c.want)
			}
		})
	}
}

func TestResolveUnknownNameListsTheKnown(t *testing.T) {
	_, err := resolve(catalog(), []string{"flet"})
	if err == nil {
		t.Fatal("a name nobody knows was accepted")
	}
	for _, word := range []string{`"flet"`, "fleet", "kube-apiserver"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not mention %s: %v", word, err)
		}
	}
}

// TestCatalog checks what a typing error in the catalog would break silently.
func TestCatalog(t *testing.T) {
	seen := make(map[string]bool)
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
		if _, err := fingerprint(".", p, "go"); err != nil {
			t.Errorf("%s has no complete tool module: %v", p.name, err)
		}
		if p.pkg == "" {
			continue
		}
		flags, err := linkerFlags(p.module, p)
		if err != nil || strings.ContainsAny(flags, "{}") {
			t.Errorf("%s: linker flags %q: %v", p.name, flags, err)
		}
	}
	for _, group := range []string{groupTest, groupFleet, groupBench, groupOld, groupLint, groupGen, groupDeploy, groupScan, groupSign} {
		if _, err := resolve(catalog(), []string{group}); err != nil {
			t.Error(err)
		}
	}
}
