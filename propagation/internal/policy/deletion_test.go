// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

func TestParseDeletionPolicy(t *testing.T) {
	for value, want := range map[string]DeletionPolicy{
		"": {}, "prune": {Value: "prune"}, "orphan": {Value: "orphan"},
		"abandon": {Abandon: true}, "orphan, abandon": {Value: "orphan", Abandon: true}, "abandon,prune": {Value: "prune", Abandon: true},
	} {
		if got := ParseDeletionPolicy(value, "Application team/app", false); got != want {
			t.Errorf("%q: got %+v", value, got)
		}
		if got := ParseDeletionPolicy(value, "ApplicationSet team/set", true); (got.Problem != "") != want.Abandon || got.Abandon {
			t.Errorf("an ApplicationSet's %q: got %+v", value, got)
		}
	}
	for _, value := range []string{"Orphan", "true", "orphan,", "orphan, prune", "abandon, abandon", "orphan until 2026-11-21T12:00:00Z", strings.Repeat("x", 1000)} {
		got := ParseDeletionPolicy(value, "Application team/app", false)
		if got.Value != "" || got.Abandon || !strings.Contains(got.Problem, "of Application team/app is") || !strings.Contains(got.Problem, "want prune or orphan") || len(got.Problem) > 320 {
			t.Errorf("%.20q: got %+v", value, got)
		}
	}
}
