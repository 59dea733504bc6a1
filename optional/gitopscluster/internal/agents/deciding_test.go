// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"slices"
	"testing"
)

// Settings that all agents share come from GitOpsClusters with agents. A dry run decides them only if no
// other GitOpsCluster has agents.
func TestDeciding_leavesOutDryRunsIfThereAreOthers(t *testing.T) {
	live, second := Spec{RotateCA: "live", Agent: &Agent{}}, Spec{RotateCA: "second", Agent: &Agent{}}
	dry, registering := Spec{RotateCA: "dry", Agent: &Agent{}, DryRun: true}, Spec{RotateCA: "registering", AtLeast: 5}
	for name, c := range map[string]struct {
		specs []Spec
		want  []string
	}{
		"beside others":  {[]Spec{dry, live, registering, second}, []string{"live", "second"}},
		"alone":          {[]Spec{registering, dry}, []string{"dry"}},
		"without agents": {[]Spec{registering}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range (&view{specs: c.specs}).deciding() {
				got = append(got, a.RotateCA)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("deciding are %q, want %q", got, c.want)
			}
		})
	}
}
