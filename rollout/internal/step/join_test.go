// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"math/rand/v2"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// A new cluster gets what is promoted although a bad revision was stopped and waits for its
// operator, and takes part in the next rollout; beside other content it waits.
func TestNext_newClusterWhileStopped(t *testing.T) {
	for name, c := range map[string]struct {
		on      rollout.OnFailure
		content bool
		want    string // what the new cluster carries while it is stopped
	}{
		"halted":                     {rollout.Halt, false, "c0@r0"},
		"rolled back":                {rollout.Rollback, false, "c0@r0"},
		"halted, other content":      {rollout.Halt, true, ""},
		"rolled back, other content": {rollout.Rollback, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, rand.New(rand.NewPCG(1, 2)), perGroup(0, c.on), 1, 2)
			f.quiesce()
			bad := "r1"
			if c.content {
				bad = "c1"
				f.want = bad
			} else {
				f.branch = bad
			}
			f.quality[bad] = "s"
			f.quiesce()
			f.clusters["c009"] = &sim{name: "c009", available: true, everCompared: map[string]bool{}}
			f.quiesce()
			if got := f.clusters["c009"].work.String(); got != c.want || f.status.Phase != rollout.Halted && f.status.Phase != rollout.RolledBack {
				t.Errorf("it carries %q, want %q, in phase %s", got, c.want, f.status.Phase)
			}
			if e := f.status.Find("c009"); e != nil {
				t.Errorf("it has what is promoted, and an entry: %+v", e)
			}

			f.quality = map[string]string{}
			f.approved = f.status.Candidate.Number
			f.quiesce()
			for name, c := range f.clusters {
				if f.status.Phase != rollout.Idle || c.compared.Content != f.want || c.compared.Revisions[0] != f.branch {
					t.Errorf("approved, in phase %s, %s runs %v, not %s %s", f.status.Phase, name, c.compared, f.want, f.branch)
				}
			}
		})
	}
}
