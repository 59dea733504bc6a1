// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestIsTrue(t *testing.T) {
	cases := map[string]struct {
		reason  string
		value   string
		yes, ok bool
	}{
		"unset":    {reason: "nothing is false and no mistake", ok: true},
		"true":     {reason: "the usual spelling", value: "true", yes: true, ok: true},
		"one":      {reason: "whatever strconv.ParseBool takes", value: "1", yes: true, ok: true},
		"capital":  {reason: "whatever strconv.ParseBool takes", value: "TRUE", yes: true, ok: true},
		"false":    {reason: "false is false", value: "false", ok: true},
		"word":     {reason: "yes is no boolean, and that can be said", value: "yes"},
		"mixed":    {reason: "tRUE is no boolean either", value: "tRUE"},
		"trailing": {reason: "nor is one with a blank", value: "true "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if yes, ok := IsTrue(c.value); yes != c.yes || ok != c.ok {
				t.Errorf("%s: got %t, %t", c.reason, yes, ok)
			}
		})
	}
}

func TestIsPulled(t *testing.T) {
	cases := map[string]struct {
		reason string
		labels map[string]string
		want   bool
	}{
		"true":      {reason: "the usual spelling", labels: map[string]string{PullLabel: "true"}, want: true},
		"boolean":   {reason: "any true boolean asks for it", labels: map[string]string{PullLabel: "True"}, want: true},
		"false":     {reason: "false says no", labels: map[string]string{PullLabel: "false"}},
		"word":      {reason: "what is no boolean asks for nothing", labels: map[string]string{PullLabel: "yes"}},
		"unlabeled": {reason: "without the label nothing is asked for", labels: map[string]string{"team": "true"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsPulled(c.labels); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func TestWorkName(t *testing.T) {
	cases := map[string]struct{ reason, app, uid, want string }{
		"usual": {reason: "five characters of the UID", app: "guestbook", uid: "0a1b2c3d-4e5f", want: "guestbook-0a1b2"},
		"short": {reason: "a short UID is used whole, not cut past its end", app: "guestbook", uid: "0a", want: "guestbook-0a"},
		"long":  {reason: "one that an AppliedManifestWork can still be called is as it is", app: strings.Repeat("a", 182), uid: "0a1b2c3d", want: strings.Repeat("a", 182) + "-0a1b2"},
		"none":  {reason: "no UID does not panic", app: "guestbook", want: "guestbook-"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := WorkName(c.app, c.uid); got != c.want {
				t.Errorf("%s: got %s", c.reason, got)
			}
		})
	}
	a, b := WorkName(strings.Repeat("a", 253), "0a1b2c3d"), WorkName(strings.Repeat("a", 253), "1a1b2c3d")
	if a == b {
		t.Error("two Applications with long names share a work")
	}
	for _, name := range []string{a, b, WorkName(strings.Repeat("a.", 126), "0a1b2c3d"), WorkName("a"+strings.Repeat("-", 250)+"a", "0")} {
		// The work agent adds the SHA-256 of the hub and a hyphen in front.
		if errs := validation.IsDNS1123Subdomain(strings.Repeat("0", 64) + "-" + name); len(errs) > 0 {
			t.Errorf("no AppliedManifestWork can be called after %s (%d characters): %v", name, len(name), errs)
		}
	}
	if errs := validation.IsDNS1123Subdomain(a); len(errs) > 0 {
		t.Errorf("%s: %v", a, errs)
	}
}

func TestLabelValue(t *testing.T) {
	for _, in := range []string{"", "argocd.guestbook", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 62) + ".b", strings.Repeat("a", 60) + "---bbbbbb"} {
		got := LabelValue(in)
		if errs := validation.IsValidLabelValue(got); len(errs) > 0 {
			t.Errorf("%s: %v", got, errs)
		}
		if len(in) <= 63 && got != in {
			t.Errorf("%s was changed to %s", in, got)
		}
		if !strings.HasPrefix(in, got) {
			t.Errorf("%s is no beginning of %s", got, in)
		}
	}
}

func TestApplicationSetHash(t *testing.T) {
	// Every consumer of the label uses this value, the sha1 of "argocd/guestbook".
	const want = "ddec52f9f031bdc3c2403deacb85a7288a2c2fb7"
	if got := ApplicationSetHash("argocd", "guestbook"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestSplitKey(t *testing.T) {
	for key, want := range map[string]bool{"argocd/guestbook": true, "": false, "/": false, "a": false, "a/": false, "/b": false, "a/b/c": false} {
		if namespace, name, ok := SplitKey(key); ok != want || ok && namespace+"/"+name != key {
			t.Errorf("%q: %s, %s, %t", key, namespace, name, ok)
		}
	}
}
