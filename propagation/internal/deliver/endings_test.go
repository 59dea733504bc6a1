// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// What waits is counted by what it waits for, with the age of what has waited longest.
func TestEndings(t *testing.T) {
	now := gatherNow
	e := &endings{now: func() time.Time { return now }, apps: map[types.NamespacedName][]waitingEnd{}}
	set := func(app string, fates ...decide.Fate) {
		e.set(&pass{facts: decide.Facts{Key: types.NamespacedName{Namespace: "team", Name: app}}, plan: decide.Plan{Fates: fates}, verdict: decide.Verdict{Allowed: map[types.UID]bool{"held": false}}})
		now = now.Add(time.Minute)
	}
	waiting := func(uid types.UID, waitsFor string) decide.Fate {
		return decide.Fate{UID: uid, Act: decide.End, Due: true, Why: decide.Deleting, Next: decide.StepWait, Wait: decide.Wait{For: waitsFor}}
	}
	held := waiting("held", decide.WaitsForAgent)
	held.Lane = decide.Lane{Kind: decide.Tenant}
	written := waiting("written", "")
	written.Next = decide.StepWrite
	registry := prometheus.NewRegistry()
	registry.MustRegister(e)
	compare := func(step string, want map[string][2]float64) {
		t.Helper()
		for _, waitsFor := range []string{decide.WaitsForAgent, decide.WaitsForFinalizer} {
			got := [2]float64{
				sumIn(t, registry, "propagation_works_ending", "waits_for", waitsFor),
				sumIn(t, registry, "propagation_works_ending_oldest_seconds", "waits_for", waitsFor),
			}
			if got != want[waitsFor] {
				t.Errorf("%s: for %s wait %v, the oldest for %v seconds", step, waitsFor, got[0], got[1])
			}
		}
	}
	set("a", waiting("a1", decide.WaitsForAgent), held, written)
	set("b", waiting("b1", decide.WaitsForAgent))
	compare("two wait for their agents, another is held and one was just written", map[string][2]float64{"agent": {2, 120}})
	set("a", waiting("a1", decide.WaitsForFinalizer), waiting("a2", decide.WaitsForAgent))
	compare("one waits for something else by now, and has waited as long", map[string][2]float64{"agent": {2, 120}, "finalizer": {1, 180}})
	set("a")
	set("b")
	compare("nothing waits", nil)
}
