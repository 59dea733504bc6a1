// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package quickstart

import (
	"slices"
	"testing"
)

func TestBlocks_pairsCommandsWithTheirOutput(t *testing.T) {
	page := "# A\n\n```sh\none\ntwo\n```\n\n```text\nout\n```\n\n```sh\n# Not tested: needs a cloud\nthree\n```\n\nwords\n\n```text\nno output\n```\n"
	got := Blocks(page)
	want := []Block{{3, "one\ntwo\n", "out\n"}, {12, "# Not tested: needs a cloud\nthree\n", ""}}
	if !slices.Equal(got, want) {
		t.Errorf("blocks are %+v, want %+v", got, want)
	}
	if !got[0].tested() || got[1].tested() {
		t.Errorf("tested are %t and %t, want the first alone", got[0].tested(), got[1].tested())
	}
}

func TestAgrees_takesAnyTextForDots(t *testing.T) {
	for _, c := range []struct {
		want, got string
		agrees    bool
	}{
		{"NAME AGE\na …\n", "NAME     AGE\na        3s\n", true},
		{"…\nlast\n", "first\nsecond\nlast\n", true},
		{"…\nlast\n", "first\nlast\nafter\n", false},
		{"a b\n", "a\n", false},
		{"a.c\n", "abc\n", false},
		{"\n", "something\n", false},
	} {
		if got := agrees(c.want, c.got); got != c.agrees {
			t.Errorf("%q for %q: %t, want %t", c.got, c.want, got, c.agrees)
		}
	}
}
