// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"
	"sync"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// listDecisions returns the PlacementDecisions of a namespace, or those of an index.
func listDecisions(ctx context.Context, from client.Reader, namespace string, indexed ...client.ListOption) ([]clusterv1beta1.PlacementDecision, error) {
	var list clusterv1beta1.PlacementDecisionList
	if err := from.List(ctx, &list, append(indexed, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list PlacementDecisions in %s: %w", namespace, err)
	}
	return list.Items, nil
}

// bindingIn returns what PlacementDecisions say about a cluster.
func bindingIn(decisions []clusterv1beta1.PlacementDecision, cluster string) (b binding) {
	for i := range decisions {
		d := &decisions[i]
		if slices.Contains(chosen(d), cluster) {
			return binding{Bound: true}
		}
		if d.Status.Decisions == nil && d.CreationTimestamp.After(b.Unread) {
			b.Unread = d.CreationTimestamp.Time
		}
	}
	return b
}

// sharedDecisions lists PlacementDecisions from the API server. Callers that wait at the same time
// share one list, which began after each of them asked: a removal of many Applications does not
// list the namespace once for each.
type sharedDecisions struct {
	mu    sync.Mutex
	lists map[string]*sharedList
}

// sharedList has the lists of one namespace, by number.
type sharedList struct {
	// callers and last are guarded by [sharedDecisions]: how many use it, and the last list that
	// has begun.
	callers, last int
	// turn guards the last list that has ended well.
	turn  sync.Mutex
	ended int
	found []clusterv1beta1.PlacementDecision
}

// list returns the PlacementDecisions that a namespace has now.
func (s *sharedDecisions) list(ctx context.Context, api client.Reader, namespace string) ([]clusterv1beta1.PlacementDecision, error) {
	l, before := s.join(namespace)
	defer s.leave(namespace, l)
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.ended > before {
		return l.found, nil
	}
	number := s.begin(l)
	found, err := listDecisions(ctx, api, namespace)
	if err == nil {
		l.ended, l.found = number, found
	}
	return found, err
}

// join returns the lists of a namespace, and the last one that has begun.
func (s *sharedDecisions) join(namespace string) (l *sharedList, last int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.lists = map[string]*sharedList{}
	}
	if s.lists[namespace] == nil {
		s.lists[namespace] = &sharedList{}
	}
	l = s.lists[namespace]
	l.callers++
	return l, l.last
}

func (s *sharedDecisions) begin(l *sharedList) (number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.last++
	return l.last
}

// leave forgets what nobody uses any more.
func (s *sharedDecisions) leave(namespace string, l *sharedList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.callers--; l.callers == 0 {
		delete(s.lists, namespace)
	}
}
