// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"sync"
	"testing"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// decisionsOf is an API server on which a PlacementDecision selects a cluster from the second list
// on. It answers no list before proceed.
type decisionsOf struct {
	client.Reader
	cluster string
	begun   chan int
	proceed chan struct{}

	mu    sync.Mutex
	lists int
	fails int // the number of a list that fails
}

func (d *decisionsOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	d.mu.Lock()
	d.lists++
	number := d.lists
	d.mu.Unlock()
	d.begun <- number
	<-d.proceed
	if number == d.fails {
		return errUnreadable
	}
	if decisions, ok := list.(*clusterv1beta1.PlacementDecisionList); ok && number > 1 {
		decisions.Items = []clusterv1beta1.PlacementDecision{{Status: clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{{ClusterName: d.cluster}}}}}
	}
	return nil
}

// Those who ask while a list is under way wait for the next, and share it: what they decide on was
// read after they asked.
func TestLiveReader_sharesListsOfDecisions(t *testing.T) {
	for name, fails := range map[string]int{"well": 0, "the first fails": 1, "the second fails": 2} {
		t.Run(name, func(t *testing.T) {
			const others = 20
			api := &decisionsOf{cluster: "cluster1", begun: make(chan int, others+1), proceed: make(chan struct{}), fails: fails}
			reader := &liveReader{api: api}
			var mu sync.Mutex
			bound, failed := 0, 0
			ask := func() {
				b, err := reader.Bound(t.Context(), "team", "cluster1")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil && !errors.Is(err, errUnreadable):
					t.Error(err)
				case err != nil:
					failed++
				case b.Bound:
					bound++
				}
			}
			var all sync.WaitGroup
			all.Go(ask)
			<-api.begun
			for range others {
				all.Go(ask)
			}
			testkit.Until(t, "all to ask", func() bool { return reader.decisions.callersOf("team") == others+1 })
			close(api.proceed)
			all.Wait()
			want := others
			if fails == 2 {
				want-- // the one whose list it was; the others list once more
			}
			if bound != want || failed != min(fails, 1) {
				t.Errorf("%d were told that the cluster is bound, %d that it cannot be read", bound, failed)
			}
			if most := 2 + max(0, fails-1); api.lists > most {
				t.Errorf("%d lists for %d callers, at most %d", api.lists, others+1, most)
			}
			if reader.decisions.callersOf("team") != 0 || len(reader.decisions.lists) != 0 {
				t.Error("a list is kept that nobody uses")
			}
		})
	}
}

func (s *sharedDecisions) callersOf(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists[namespace] == nil {
		return 0
	}
	return s.lists[namespace].callers
}
