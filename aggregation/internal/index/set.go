// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"hash/maphash"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// set is one ApplicationSet.
type set struct {
	entries []*entry // sorted by their rows
	// applications has the first entry of each hub Application by its hash (see entry.sibling).
	applications map[uint64]*entry

	search *findings // nil until a valid intermediate report was read
	// remembered is the earlier report (see [Index.Remember]).
	remembered *memory

	// named counts, for each resource of search, the entries that have it.
	named []int32
	// union is the last result of resources. It is nil after a change.
	union *merge.ResourceList
}

// cluster is one ManagedCluster and the works in its namespace.
type cluster struct {
	state status.Cluster
	works map[*entry]struct{}
}

// stale returns 1 if the rows of the cluster are Unknown because the cluster is unavailable, or 0.
func (c *cluster) stale() int {
	if len(c.works) > 0 && !c.state.Available {
		return 1
	}
	return 0
}

// entry is one ManifestWork and the row that it makes.
type entry struct {
	work *manifestcache.Work
	row  *merge.Row
	// hidden is true if the work is being removed from one cluster while another work carries the
	// same Application. Only that one has a row.
	hidden bool
	// sibling is the next entry of the same hub Application, or of one of the same hash.
	sibling *entry
	// found is the finding of search about the work's delivered Application, or nil.
	found *finding

	// uid is the UID of the ManifestWork of operation and revision, which are the last observed
	// values (see [status.FillTransientGaps]).
	uid       types.UID
	operation contract.OperationFeedback
	revision  string
}

// leftOut is how many resources of the Application did not fit into the intermediate report.
func (e *entry) leftOut() int {
	if e.found == nil {
		return 0
	}
	return int(e.found.leftOut)
}

func compareEntries(a, b *entry) int { return merge.Compare(a.row, b.row) }

// insert adds an entry that has its row. Cluster and App of a row never change while the entry
// exists, so its position does not change either.
func (s *set) insert(e *entry) {
	i, _ := slices.BinarySearchFunc(s.entries, e, compareEntries)
	s.entries = slices.Insert(s.entries, i, e)
	s.outdated(len(s.entries) == 1)
	if s.applications == nil {
		s.applications = map[uint64]*entry{}
	}
	app := hashOf(applicationOf(e.work))
	e.sibling, s.applications[app] = s.applications[app], e
}

func (s *set) remove(e *entry) {
	if i, found := slices.BinarySearchFunc(s.entries, e, compareEntries); found {
		s.entries = slices.Delete(s.entries, i, i+1)
		s.outdated(len(s.entries) == 0)
	}
	app := hashOf(applicationOf(e.work))
	first := s.applications[app]
	link := &first
	for *link != nil && *link != e {
		link = &(*link).sibling
	}
	if *link == e {
		*link = e.sibling
	}
	if first == nil {
		delete(s.applications, app)
	} else {
		s.applications[app] = first
	}
}

// retarget hides or shows the works of an Application that moves between clusters. differs is true
// if a row was added or removed.
func (s *set) retarget(app types.NamespacedName) (differs bool) {
	first := s.applications[hashOf(app)]
	staying := false
	for e := first; e != nil; e = e.sibling {
		staying = staying || applicationOf(e.work) == app && e.work.DeletionTimestamp == nil
	}
	for e := first; e != nil; e = e.sibling {
		if applicationOf(e.work) != app {
			continue
		}
		if hidden := e.work.DeletionTimestamp != nil && staying; e.hidden != hidden {
			e.hidden, differs = hidden, true
		}
	}
	return differs
}

// attach adds the finding of search for an entry's delivered Application. It reports whether the
// resources, or the number of left out resources, differ by it.
func (s *set) attach(e *entry) (differs bool) {
	before := e.leftOut()
	differs = s.detach(e)
	if s.search != nil {
		e.found = s.search.of(placeOf(e.work))
	}
	if e.found != nil {
		for _, n := range e.found.resources {
			if s.named[n]++; s.named[n] == 1 {
				differs = true
			}
		}
	}
	return s.outdated(differs) || e.leftOut() != before
}

// readBy reports whether findings cover all works.
func (s *set) readBy(f *findings) bool {
	return len(f.unread) == 0 || !slices.ContainsFunc(s.entries, func(e *entry) bool { return !f.include(e.work) })
}

// unsearched reports whether findings of search cover none of the works.
func (s *set) unsearched() bool {
	return s.search == nil || len(s.entries) > 0 && !slices.ContainsFunc(s.entries, func(e *entry) bool { return s.search.include(e.work) })
}

// statuses returns the rows and resources of the set's report.
func (s *set) statuses() (statuses v1alpha1.AppSetStatuses) {
	statuses.Resources = s.resources().Refs()
	for _, e := range s.entries {
		statuses.ClusterConditions = append(statuses.ClusterConditions, e.row.ClusterCondition)
	}
	return statuses
}

// detach undoes attach.
func (s *set) detach(e *entry) (differs bool) {
	if e.found != nil {
		for _, n := range e.found.resources {
			if s.named[n]--; s.named[n] == 0 {
				differs = true
			}
		}
		e.found = nil
	}
	return s.outdated(differs)
}

func (s *set) outdated(differs bool) bool {
	if differs {
		s.union = nil
	}
	return differs
}

// know changes the findings of search and the earlier report. differs is true if that changes the
// resources, or the number of left out resources.
func (s *set) know(search *findings, remembered *memory) (differs bool) {
	before, leftOut := s.resources(), s.leftOut()
	for _, e := range s.entries {
		s.detach(e)
	}
	s.search, s.remembered, s.named, s.union = search, remembered, nil, nil
	if search != nil {
		s.named = make([]int32, len(search.resources.Refs()))
	}
	for _, e := range s.entries {
		s.attach(e)
	}
	return s.leftOut() != leftOut || !sameResources(before, s.resources())
}

// leftOut counts the resources that did not fit into the intermediate report.
func (s *set) leftOut() (n int) {
	for _, e := range s.entries {
		n += e.leftOut()
	}
	return n
}

// resources returns the union of the resources that the Applications of the set deploy.
func (s *set) resources() merge.ResourceList {
	if s.union == nil {
		l := s.unite()
		s.union = &l
	}
	return *s.union
}

func (s *set) unite() (union merge.ResourceList) {
	if s.search != nil {
		union = s.search.resources.Only(func(i int) bool { return s.named[i] > 0 })
	}
	if s.remembered == nil || len(s.entries) == 0 {
		return union
	}
	if len(union.Refs()) == 0 {
		return s.remembered.resources
	}
	return merge.Resources(slices.Concat(union.Refs(), s.remembered.resources.Refs()))
}

func sameResources(a, b merge.ResourceList) bool { return slices.Equal(a.Refs(), b.Refs()) }

// makeRow returns the row with the present state of an Application.
func (e *entry) makeRow(on status.Cluster, s *set) *merge.Row {
	app := appOf(e.work)
	current := e.work.Observe(on)
	previous := status.Observation{Work: e.uid, Operation: e.operation, Revision: e.revision}
	if e.row != nil {
		previous.Revisions = e.row.SyncRevisions
	}
	if e.operation.Phase == "" && s.remembered != nil {
		s.remembered.recall(app.Name(), &previous)
		previous.Work = current.Work // the row that it is recalled from names cluster and work
	}
	seen := e.share(status.FillTransientGaps(previous, current))
	e.uid, e.operation, e.revision = seen.Work, seen.Operation, seen.Revision

	app.Reported = seen.Reported
	app.Health, app.Sync, app.Revision, app.Revisions = seen.Health, seen.Sync, seen.Revision, seen.Revisions
	app.OperationPhase, app.OperationStartedAt, app.OperationMessage = seen.Operation.Phase, seen.Operation.StartedAt, seen.Operation.Message
	for _, c := range seen.ReportConditions() {
		app.Conditions = append(app.Conditions, v1alpha1.Condition(c))
	}
	return merge.NewRow(app, e.searched(app, s))
}

// searched returns the findings of search about the Application. If they do not cover its cluster,
// it returns the findings of the earlier report, with their age.
func (e *entry) searched(app merge.App, s *set) merge.Search {
	if e.found != nil {
		return e.found.result()
	}
	var search merge.Search
	if s.search != nil && s.search.covers(e.work.Namespace) {
		return search
	}
	if s.remembered != nil {
		search = s.remembered.search(merge.NewRow(app, merge.Search{}))
	}
	if search.StaleSince == "" && s.search != nil {
		search.StaleSince = s.search.unreadSince
	}
	return search
}

// share makes an observation that is kept share its texts with other rows, and with the
// row that it may replace.
func (e *entry) share(seen status.Observation) status.Observation {
	seen.Revision = manifestcache.Intern(seen.Revision)
	seen.Operation.FinishedAt = "" // is in no row
	if e.row != nil && e.row.OperationStateStartedAt == seen.Operation.StartedAt {
		seen.Operation.StartedAt = e.row.OperationStateStartedAt
	}
	return seen
}

var seed = maphash.MakeSeed()

// hashOf returns a key for an Application that needs half of the memory.
func hashOf(app types.NamespacedName) uint64 { return maphash.Comparable(seed, app) }
