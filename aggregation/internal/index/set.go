// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/observe"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// set is one ApplicationSet.
type set struct {
	entries []*entry // sorted by their rows
	// leaving are the Applications that had a work withdrawn; few at any time.
	leaving map[types.NamespacedName]struct{}

	search     *findings // nil until a good intermediate report came
	remembered *memory   // nil unless the report was read and search is nil
}

// cluster is one ManagedCluster and the works in its namespace.
type cluster struct {
	state observe.Cluster
	works map[*entry]struct{}
}

// stale is 1 for a cluster whose rows are Unknown because it is not available.
func (c *cluster) stale() int {
	if len(c.works) > 0 && !c.state.Available {
		return 1
	}
	return 0
}

// entry is one ManifestWork and the row that it makes.
type entry struct {
	work *Work
	row  *merge.Row
	// hidden: the work is being withdrawn from one cluster while another one carries
	// the same Application already, which has one row.
	hidden bool

	// operation and revision are the last that were seen, and uid is the UID of the
	// ManifestWork that they were seen on (see [observe.Settle]).
	uid       types.UID
	operation wire.OperationFeedback
	revision  string
}

func compareEntries(a, b *entry) int { return merge.Compare(a.row, b.row) }

// insert adds an entry that has its row. Cluster and App of a row never change
// while the entry lives, so its place does not either.
func (s *set) insert(e *entry) {
	i, _ := slices.BinarySearchFunc(s.entries, e, compareEntries)
	s.entries = slices.Insert(s.entries, i, e)
}

func (s *set) remove(e *entry) {
	if i, found := slices.BinarySearchFunc(s.entries, e, compareEntries); found {
		s.entries = slices.Delete(s.entries, i, i+1)
	}
}

// retarget hides or shows the works of an Application that moves from one cluster
// to another, and reports whether a row came or went. It looks through the set only
// for the few Applications that have a work on its way out.
func (s *set) retarget(w *Work) (differs bool) {
	app := w.application()
	if w.Leaving {
		if s.leaving == nil {
			s.leaving = map[types.NamespacedName]struct{}{}
		}
		s.leaving[app] = struct{}{}
	}
	if _, moving := s.leaving[app]; !moving {
		return false
	}
	leaving, staying := 0, 0
	for _, e := range s.entries {
		switch {
		case e.work.application() != app:
		case e.work.Leaving:
			leaving++
		default:
			staying++
		}
	}
	for _, e := range s.entries {
		if hidden := e.work.Leaving && staying > 0; e.work.application() == app && e.hidden != hidden {
			e.hidden, differs = hidden, true
		}
	}
	if leaving == 0 {
		delete(s.leaving, app)
	}
	return differs
}

func (s *set) resources() merge.ResourceList {
	switch {
	case s.search != nil:
		return s.search.resources
	case s.remembered != nil:
		return s.remembered.resources
	}
	return merge.ResourceList{}
}

func sameResources(a, b merge.ResourceList) bool { return slices.Equal(a.Refs(), b.Refs()) }

// makeRow says what is known about an Application now.
func (e *entry) makeRow(on observe.Cluster, s *set) *merge.Row {
	app := e.work.app()
	current := e.work.Facts.Observe(on)
	previous := observe.Observation{Work: e.uid, Operation: e.operation, Revision: e.revision}
	if e.operation.Phase == "" && s.remembered != nil {
		s.remembered.recall(app.Name(), &previous)
		previous.Work = current.Work // the row that it is recalled from names cluster and work
	}
	seen := observe.Settle(previous, current)
	e.uid, e.operation, e.revision = seen.Work, seen.Operation, seen.Revision

	app.Health, app.Sync, app.Revision = seen.Health, seen.Sync, seen.Revision
	app.OperationPhase, app.OperationStartedAt, app.OperationMessage = seen.Operation.Phase, seen.Operation.StartedAt, seen.Operation.Message
	for _, c := range seen.ReportConditions() {
		app.Conditions = append(app.Conditions, v1alpha1.Condition(c))
	}
	switch {
	case s.search != nil:
		return merge.NewRow(app, s.search.conditions[e.work.onCluster()])
	case s.remembered != nil:
		return merge.NewRow(app, s.remembered.conditions(merge.NewRow(app, nil)))
	}
	return merge.NewRow(app, nil)
}
