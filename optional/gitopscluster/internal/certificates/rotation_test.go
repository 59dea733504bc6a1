// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"strings"
	"testing"
	"time"
)

// During a change of the CA, the principal accepts every reachable agent at any time, whatever restarts in
// between. An unreachable agent delays only the last step.
func TestRotation_keepsReachableAgentsConnected(t *testing.T) {
	t.Run("clusters first", func(t *testing.T) { changeOfTheCA(t, false) })
	t.Run("principal first", func(t *testing.T) { changeOfTheCA(t, true) })
}

func changeOfTheCA(t *testing.T, principalFirst bool) {
	f := newFleet(t, "c1", "c2", "c3", "c4")
	f.principalFirst = principalFirst
	f.changeCA("") // until nothing changes
	f.everybodyIsLetIn("at rest")
	first, away, old := f.state.SigningCA, f.members[3], f.members[0].agent
	away.report.Reachable, away.report.Connected = false, false

	f.changeCA("please")
	if f.state.SigningCA == first {
		t.Fatalf("the old CA signs still: %v", f.state.Problems)
	}
	if len(f.state.Problems) != 1 || f.state.Problems[0].Reason != ReasonWaiting || !f.state.Problems[0].Warning || !strings.Contains(f.state.Problems[0].Message, "1 clusters (c4)") {
		t.Errorf("problems %v", f.state.Problems)
	}
	for _, m := range f.members[:3] {
		if newest := m.report.Issued[1]; newest.CA != f.state.SigningCA || newest.Generation != 2 {
			t.Errorf("%s has %+v", m.report.Cluster, newest)
		}
	}
	old.Roots = f.state.CABundle
	if _, err := old.Dial(f.server.Address(), "principal.example.com", f.clock); err != nil {
		t.Errorf("a certificate of the old CA was refused before its time: %v", err)
	}
	if _, err := away.agent.Dial(f.server.Address(), "principal.example.com", f.clock); err == nil {
		t.Error("an agent that was away trusts a CA that it cannot know")
	}

	f.now = f.now.Add(2 * time.Hour)
	f.pass("please")
	if f.state.Problems[0].Warning {
		t.Error("after two hours it is only a warning")
	}

	f.trust(away) // the cluster gets the CA bundle before its agent connects
	away.report.Reachable, away.report.Connected = true, true
	f.changeCA("please")
	if len(f.state.Problems) > 0 || strings.Count(string(f.state.CABundle), "BEGIN") != 1 {
		t.Errorf("problems %v", f.state.Problems)
	}
	if _, err := old.Dial(f.server.Address(), "principal.example.com", f.clock); err == nil || !strings.Contains(err.Error(), "the principal refuses the agent") {
		t.Errorf("a certificate of the old CA: %v", err)
	}
	ca := f.key()
	if len(ca.Data) != 3 || ca.Annotations[rotatedAnnotation] != "please" {
		t.Errorf("the Secret has %d keys, annotations %v", len(ca.Data), ca.Annotations)
	}
	n := f.deployment().Generation
	f.changeCA("please")
	if f.deployment().Generation != n {
		t.Error("restarted without need")
	}
}

// A change of the CA also completes with a slow principal.
func TestRotation_completesWithASlowPrincipal(t *testing.T) {
	f := newFleet(t, "c1", "c2")
	f.slow = 8
	f.changeCA("")
	first := f.state.SigningCA
	f.changeCA("please")
	if f.state.SigningCA == first || len(f.state.Problems) > 0 || strings.Count(string(f.state.CABundle), "BEGIN") != 1 {
		t.Errorf("problems %v", f.state.Problems)
	}
}

// gitopscluster changes the CA by itself when a fifth of its life is left.
func TestRotation_startsInTime(t *testing.T) {
	f := newFleet(t, "c1")
	f.changeCA("")
	first := f.state.SigningCA
	f.now = f.now.Add(4*365*24*time.Hour + time.Hour)
	late := f.now.Add(time.Hour)
	f.clock = func() time.Time { return late }
	f.pass("")
	f.restartPrincipal() // its certificates expired long ago
	f.renew(f.members[0])
	f.members[0].startAgent()
	f.changeCA("")
	if f.state.SigningCA == first || len(f.state.Problems) > 0 || strings.Count(string(f.state.CABundle), "BEGIN") != 1 {
		t.Errorf("problems %v", f.state.Problems)
	}
}
