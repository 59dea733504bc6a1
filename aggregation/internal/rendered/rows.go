// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Rows holds the rows of rendered Applications by ApplicationSet. It is safe for
// concurrent use.
type Rows struct {
	changed func(types.NamespacedName)

	mu           sync.Mutex
	applications map[types.NamespacedName]*entry
	sets         map[types.NamespacedName]map[*entry]struct{}
	clusters     map[string]*cluster
}

// entry is one Application and the row that it makes.
type entry struct {
	application *Application
	row         *merge.Row
	seen        status.Observation // only the fields that [status.FillTransientGaps] reads
}

// cluster is one ManagedCluster and the Applications on it.
type cluster struct {
	state   status.Cluster
	entries map[*entry]struct{}
}

// New returns empty Rows. changed is called for every ApplicationSet with different rows.
func New(changed func(types.NamespacedName)) *Rows {
	return &Rows{
		changed:      changed,
		applications: map[types.NamespacedName]*entry{},
		sets:         map[types.NamespacedName]map[*entry]struct{}{},
		clusters:     map[string]*cluster{},
	}
}

// Sets returns the ApplicationSets that have rows, in no order.
func (r *Rows) Sets() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.sets))
}

// Rows returns the rows of an ApplicationSet, sorted by [merge.Compare].
func (r *Rows) Rows(set types.NamespacedName) []*merge.Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := make([]*merge.Row, 0, len(r.sets[set]))
	for e := range r.sets[set] {
		rows = append(rows, e.row)
	}
	slices.SortFunc(rows, merge.Compare)
	return rows
}

// Set takes in an Application that is new or has changed.
func (r *Rows) Set(a *Application) {
	r.update(func(touched map[types.NamespacedName]struct{}) {
		e := r.applications[a.key()]
		if e != nil && (e.application.Set != a.Set || e.application.Cluster != a.Cluster) {
			r.remove(e, touched)
			e = nil
		}
		if a.Set.Name == "" {
			return
		}
		if e == nil {
			e = &entry{}
			r.add(e, a)
		}
		e.application = a
		r.refresh(e, touched)
	})
}

// Delete removes an Application.
func (r *Rows) Delete(key types.NamespacedName) {
	r.update(func(touched map[types.NamespacedName]struct{}) {
		if e := r.applications[key]; e != nil {
			r.remove(e, touched)
		}
	})
}

// SetCluster adds, replaces or removes a ManagedCluster.
func (r *Rows) SetCluster(state status.Cluster) {
	r.update(func(touched map[types.NamespacedName]struct{}) {
		c := r.cluster(state.Name)
		c.state = state
		for e := range c.entries {
			r.refresh(e, touched)
		}
		r.dropIfEmpty(c)
	})
}

// update runs change and reports the ApplicationSets that it touched, after the
// lock is free again.
func (r *Rows) update(change func(touched map[types.NamespacedName]struct{})) {
	touched := map[types.NamespacedName]struct{}{}
	r.mu.Lock()
	change(touched)
	r.mu.Unlock()
	for set := range touched {
		r.changed(set)
	}
}

func (r *Rows) add(e *entry, a *Application) {
	r.applications[a.key()] = e
	if r.sets[a.Set] == nil {
		r.sets[a.Set] = map[*entry]struct{}{}
	}
	r.sets[a.Set][e] = struct{}{}
	r.cluster(a.Cluster).entries[e] = struct{}{}
}

func (r *Rows) remove(e *entry, touched map[types.NamespacedName]struct{}) {
	a := e.application
	delete(r.applications, a.key())
	if delete(r.sets[a.Set], e); len(r.sets[a.Set]) == 0 {
		delete(r.sets, a.Set)
	}
	c := r.cluster(a.Cluster)
	delete(c.entries, e)
	r.dropIfEmpty(c)
	touched[a.Set] = struct{}{}
}

func (r *Rows) cluster(name string) *cluster {
	c := r.clusters[name]
	if c == nil {
		c = &cluster{state: status.Cluster{Name: name}, entries: map[*entry]struct{}{}}
		r.clusters[name] = c
	}
	return c
}

func (r *Rows) dropIfEmpty(c *cluster) {
	if !c.state.Exists && len(c.entries) == 0 {
		delete(r.clusters, c.state.Name)
	}
}

// refresh updates the row of an entry.
func (r *Rows) refresh(e *entry, touched map[types.NamespacedName]struct{}) {
	a := e.application
	seen := status.FillTransientGaps(e.seen, status.Rendered(a.uid, a.feedback, r.cluster(a.Cluster).state))
	e.seen = status.Observation{Work: seen.Work, Operation: seen.Operation, Revision: seen.Revision, Revisions: seen.Revisions}
	row := rowOf(a, &seen)
	if e.row != nil && e.row.Equal(row) {
		return
	}
	e.row = row
	touched[a.Set] = struct{}{}
}

// rowOf returns a row. An Application can have a work for each phase, wave and shard. The row has the
// shortest of their names. Before Argo CD lists them, it has the name of the only work of an
// Application in Argo CD's namespace.
func rowOf(a *Application, seen *status.Observation) *merge.Row {
	app := merge.App{
		HubNamespace: a.Namespace, HubName: a.Name, Cluster: a.Cluster, Work: cmp.Or(a.work, contract.RenderedWorkName(a.Name, "")),
		Reported: seen.Reported, Health: seen.Health, Sync: seen.Sync, Revision: seen.Revision, Revisions: seen.Revisions,
		OperationPhase: seen.Operation.Phase, OperationStartedAt: seen.Operation.StartedAt, OperationMessage: seen.Operation.Message,
	}
	for _, c := range seen.ReportConditions() {
		app.Conditions = append(app.Conditions, v1alpha1.Condition(c))
	}
	return merge.NewRow(app, merge.Search{})
}
