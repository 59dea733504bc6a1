// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

func TestParseOnWithdraw(t *testing.T) {
	for value, want := range map[string]OnWithdraw{"": {}, "prune": {Word: "prune"}, "orphan": {Word: "orphan"}} {
		if got := ParseOnWithdraw(value, "Application team/app"); got != want || got.Says() != (value != "") {
			t.Errorf("%q: got %+v", value, got)
		}
	}
	for _, value := range []string{"Orphan", " orphan", "true", "orphan until 2026-11-21T12:00:00Z", strings.Repeat("x", 1000)} {
		got := ParseOnWithdraw(value, "Application team/app")
		if got.Word != "" || !strings.Contains(got.Problem, "of Application team/app is") || !strings.Contains(got.Problem, "want orphan or prune") || len(got.Problem) > 300 {
			t.Errorf("%.20q: got %+v", value, got)
		}
	}
}
