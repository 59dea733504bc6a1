// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"strings"
	"testing"
)

func TestAny(t *testing.T) {
	for name, c := range map[string]struct {
		reason, text string
		patterns     []string
		want         bool
	}{
		"none":         {reason: "an empty list admits no namespace", text: "team-a"},
		"exact":        {reason: "a name is itself", patterns: []string{"other", "team-a"}, text: "team-a", want: true},
		"longer":       {reason: "and nothing that begins with it", patterns: []string{"team-a"}, text: "team-a-evil"},
		"star":         {reason: "everybody", patterns: []string{"*"}, text: "team-a", want: true},
		"prefix":       {reason: "some", patterns: []string{"team-*"}, text: "team-a", want: true},
		"otherPrefix":  {reason: "but not others", patterns: []string{"team-*"}, text: "my-team-a"},
		"alternatives": {reason: "of several", patterns: []string{"team-{a,b}"}, text: "team-b", want: true},
		"set":          {reason: "of a set", patterns: []string{"team-[a-c]"}, text: "team-b", want: true},
		"notInSet":     {reason: "outside a set", patterns: []string{"team-[!a-c]"}, text: "team-b"},
		"regex":        {reason: "between slashes", patterns: []string{"/^team-(a|b)$/"}, text: "team-b", want: true},
		"anywhere":     {reason: "an expression without anchors is found anywhere, as with Argo CD", patterns: []string{"/team/"}, text: "my-team-a", want: true},
		"lookahead":    {reason: "everybody but one, as in Argo CD's documentation", patterns: []string{"/^((?!kube-system).)*$/"}, text: "kube-system"},
		"lookaheadYes": {reason: "the others", patterns: []string{"/^((?!kube-system).)*$/"}, text: "team-a", want: true},
		"broken":       {reason: "what is no pattern admits no namespace", patterns: []string{"[", "/(/", "/", "//x", ""}, text: "team-a"},
		"endless":      {reason: "an expression that does not terminate admits no namespace", patterns: []string{"/^(a+)+$/"}, text: strings.Repeat("a", 62) + "b"},
		"emptyRegex":   {reason: "an empty expression is found in everything, as with Argo CD", patterns: []string{"//"}, text: "team-a", want: true},
		"noNegation":   {reason: "an exclamation mark is a character here", patterns: []string{"!team-b"}, text: "team-a"},
	} {
		if got := Any(c.patterns, c.text); got != c.want {
			t.Errorf("%s: %s: got %t", name, c.reason, got)
		}
	}
}
