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

// listDecisions returns the PlacementDecisions of a namespace, or of an index.
func listDecisions(ctx context.Context, from client.Reader, namespace string, indexed ...client.ListOption) ([]clusterv1beta1.PlacementDecision, error) {
	var list clusterv1beta1.PlacementDecisionList
	if err := from.List(ctx, &list, append(indexed, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list PlacementDecisions in %s: %w", namespace, err)
	}
	return list.Items, nil
}

// selects reports whether one of the PlacementDecisions selects a cluster. A decision without status
// selects nothing: whoever may create Placements could otherwise keep a lost permission with new ones.
// After a restore, the grace period covers the time until OCM writes the status.
func selects(decisions []clusterv1beta1.PlacementDecision, cluster string) bool {
	return slices.ContainsFunc(decisions, func(d clusterv1beta1.PlacementDecision) bool {
		return slices.Contains(chosen(&d), cluster)
	})
}

// sharedDecisions lists PlacementDecisions from the API server. Callers that wait at the same time
// share one list. It starts after each of them has asked. So the removal of many Applications does
// not list the namespace once for each of them.
type sharedDecisions struct {
	mu    sync.Mutex
	lists map[string]*sharedList
}

// sharedList has the lists of one namespace, by number.
type sharedList struct {
	// callers counts the callers that use the list. last is the number of the last list that has
	// started. The mutex of [sharedDecisions] protects both.
	callers, last int
	// turn protects the last successful list.
	turn  sync.Mutex
	ended int
	found []clusterv1beta1.PlacementDecision
}

// list returns the present PlacementDecisions of a namespace.
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

// join returns the lists of a namespace, and the number of the last list that has started.
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

// leave removes the lists of a namespace if no caller uses them.
func (s *sharedDecisions) leave(namespace string, l *sharedList) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.callers--; l.callers == 0 {
		delete(s.lists, namespace)
	}
}
