// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/steps"
)

// Good and bad commits and contents, one after the other, while propagation and rollout are
// killed at random points: no cluster outside the first group ever compares a bad one, every
// good one is promoted once, and every bad one is taken back.
func TestRollout_killedAtRandom(t *testing.T) {
	r, kills := steps.Random(t, 6)
	f := newFleet(t, 1, 2, 2)
	f.adopt()
	var killed atomic.Int64
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		random := rand.New(rand.NewPCG(uint64(r.IntN(1<<30)), 1))
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(300+random.IntN(2200)) * time.Millisecond):
			}
			b := f.binaries[random.IntN(2)]
			b.kill()
			b.start()
			killed.Add(1)
		}
	}()
	path, number, rounds := "p0", int64(1), 0
	for ; int(killed.Load()) < kills; rounds++ {
		how := []string{"", "sync", "health", "degrades"}[rounds%4]
		content := rounds%8 >= 4
		name := fmt.Sprint("x", rounds)
		was := f.status()
		if content {
			f.mu.Lock()
			if how != "" {
				f.bad[name] = how
			}
			f.mu.Unlock()
			f.content(name)
		} else {
			f.commit(name, how)
		}
		if how != "" {
			f.becomes(name+" to be taken back", func(s *rollout.Status) bool { return s.Phase == rollout.RolledBack })
			f.runs("every cluster to run what is promoted", func(_ int, p, v string) bool { return p == path && slices.Equal([]string{v}, was.Promoted.Revisions) })
			good := name + "-good"
			if content {
				f.content(good)
				path = good
			} else {
				f.commit(good, "")
				f.approve()
			}
		} else if content {
			path = name
		}
		s := f.becomes("the good one to be promoted", func(s *rollout.Status) bool { return s.Phase == rollout.Idle && s.Promoted.Number > number })
		number = s.Promoted.Number
		f.mu.Lock()
		branch := f.branch
		f.mu.Unlock()
		f.runs("every cluster to run the good one", func(_ int, p, v string) bool { return p == path && v == branch })
	}
	close(stop)
	<-ended
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.violated {
		t.Error(v)
	}
	t.Logf("%d rounds, %d kills, %d versions promoted", rounds, killed.Load(), number)
}

// The leader is killed half way through a rollout and does not come back: the standby goes on from
// the status, and holds what a bad commit is about.
func TestRollout_standbyTakesOver(t *testing.T) {
	f := newFleet(t, 1, 2, 2)
	f.binaries[1].kill()
	elected := []string{"--leader-elect", "--leader-election-namespace=" + f.namespace, "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms"}
	leader, standby := newBinary(t, env.Rollout, elected...), newBinary(t, env.Rollout, elected...)
	leader.start()
	t.Cleanup(leader.kill)
	f.adopt()
	first := f.holder()
	standby.start()
	t.Cleanup(standby.kill)

	f.commit("r1", "")
	f.becomes("the second group to have its turn", func(s *rollout.Status) bool { return s.Counts.Started > 1 })
	leader.kill()
	s := f.becomes("r1 to be promoted", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && slices.Equal(s.Promoted.Revisions, []string{"r1"})
	})
	if s.Promoted.Number != 2 {
		t.Errorf("the second version that is promoted has number %d", s.Promoted.Number)
	}
	if now := f.holder(); now == first {
		t.Errorf("%s is the leader after it was killed", now)
	}
	f.commit("r2", "sync")
	f.becomes("r2 to be taken back", func(s *rollout.Status) bool { return s.Phase == rollout.RolledBack })
	f.runs("every cluster to run what is promoted", func(_ int, _, v string) bool { return v == "r1" })
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.violated {
		t.Error(v)
	}
}

// holder returns who is the leader.
func (f *fleet) holder() string {
	f.t.Helper()
	lease := &coordinationv1.Lease{}
	if err := hub.client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "multicluster-integrations-rollout"}, lease); err != nil {
		f.t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}
