// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// When the leader of two replicas is killed, the other replica takes over. Each round kills one replica, so
// one round kills the leader.
func TestReplicas_takeOverFromAKilledLeader(t *testing.T) {
	for _, round := range []struct{ killed, name string }{{"-0", "first-killed"}, {"-1", "second-killed"}} {
		for _, binary := range []string{env.Propagation, env.Aggregation} {
			p := process(t, binary+round.killed)
			if err := p.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			startAfterwards(t, p)
		}
		for _, c := range fleet.Managed {
			create(t, round.name+"-"+c.Name, c.Name, true)
		}
		for _, c := range fleet.Managed {
			awaitWell(t, "hub", round.name+"-"+c.Name)
		}
		for _, binary := range []string{env.Propagation, env.Aggregation} {
			if err := process(t, binary+round.killed).Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := process(t, binary+round.killed).AwaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
