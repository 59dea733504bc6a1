// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"math/rand/v2"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// once has the controller take a step, delivery write and agents apply what follows from it.
func (f *fleet) once() {
	f.t.Helper()
	f.now = f.now.Add(time.Second)
	f.step()
	for _, name := range f.names() {
		f.deliver(f.clusters[name])
		f.apply(f.clusters[name])
	}
}

// A cluster that is still degraded by the commit before has not failed with the one that mends it:
// neither when that is approved before the cluster reports that it is back, nor when what was
// promoted degrades later.
func TestNext_mendedIsNotJudgedByWhatItMends(t *testing.T) {
	for name, approved := range map[string]bool{"approved after a rollback": true, "what is promoted has degraded": false} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, rand.New(rand.NewPCG(1, 2)), perGroup(0, rollout.Rollback), 1, 1, 2)
			f.quiesce()
			first := f.clusters["c000"]
			if approved {
				f.branch, f.quality["r1"] = "r1", "d"
				f.compare(first)
				f.settle(first)
				for range 5 {
					f.once()
				}
				if f.status.Phase != rollout.RolledBack {
					t.Fatalf("the bad one was not taken back: %+v", f.status)
				}
				f.approved = f.status.Candidate.Number
			} else {
				first.hlt = argocd.HealthDegraded
			}
			f.branch = "r2"
			for range 3 {
				f.once() // the agent has applied it, Argo CD has not compared
			}
			f.compare(first)
			for range 3 {
				f.once() // compared, and not synced
			}
			if f.status.Phase != rollout.Progressing {
				t.Fatalf("judged before it was synced: %+v", f.status)
			}
			f.quiesce()
			if f.status.Phase != rollout.Idle || f.status.Promoted.Revisions[0] != "r2" {
				t.Errorf("what mends it was not promoted: %+v", f.status)
			}
		})
	}
}
