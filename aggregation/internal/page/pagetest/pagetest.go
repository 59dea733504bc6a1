// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pagetest is a fleet that does not exist, for the tests of the page, its
// benchmark and its pictures.
package pagetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/access"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/hubapps"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Fleet is a source of the page. It is safe for concurrent use.
type Fleet struct {
	mu        sync.Mutex
	rows      map[types.NamespacedName][]*merge.Row
	resources []v1alpha1.ResourceRef
	clusters  map[string]status.Cluster
	apps      []*hubapps.Application
	// Changed is called with what has been changed.
	Changed func(types.NamespacedName)
}

// New returns an empty fleet.
func New() *Fleet {
	return &Fleet{rows: map[types.NamespacedName][]*merge.Row{}, clusters: map[string]status.Cluster{}, Changed: func(types.NamespacedName) {}}
}

// Row describes one row.
type Row struct {
	Name, Cluster, Health, Sync, Revision, Phase string
	Started                                      time.Time
	Conditions                                   []v1alpha1.Condition
}

// Put adds a row to an ApplicationSet, or replaces the one of its name and cluster.
func (f *Fleet) Put(set types.NamespacedName, r Row) {
	app := merge.App{
		HubNamespace: set.Namespace, HubName: r.Name, Cluster: r.Cluster, Work: r.Name + "-1a2b3", Reported: true,
		Health: cmp.Or(r.Health, "Healthy"), Sync: cmp.Or(r.Sync, "Synced"), Revision: r.Revision, OperationPhase: r.Phase, Conditions: r.Conditions,
	}
	if !r.Started.IsZero() {
		app.OperationStartedAt = r.Started.UTC().Format(time.RFC3339)
	}
	row := merge.NewRow(app, merge.Search{})
	f.mu.Lock()
	rows := slices.Clone(f.rows[set]) // what callers have does not change
	i, found := slices.BinarySearchFunc(rows, row, merge.Compare)
	if found {
		rows[i] = row
	} else {
		rows = slices.Insert(rows, i, row)
	}
	f.rows[set] = rows
	if _, ok := f.clusters[r.Cluster]; !ok {
		f.clusters[r.Cluster] = status.Cluster{Name: r.Cluster, Exists: true, Available: true}
	}
	f.mu.Unlock()
	f.Changed(set)
}

// Fill puts many rows into an ApplicationSet at once.
func (f *Fleet) Fill(set types.NamespacedName, rows []*merge.Row) {
	slices.SortFunc(rows, merge.Compare)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[set] = rows
	for _, r := range rows {
		if _, ok := f.clusters[r.Cluster]; !ok {
			f.clusters[r.Cluster] = status.Cluster{Name: r.Cluster, Exists: true, Available: true}
		}
	}
}

// Remove takes an ApplicationSet away.
func (f *Fleet) Remove(set types.NamespacedName) {
	f.mu.Lock()
	delete(f.rows, set)
	f.mu.Unlock()
	f.Changed(set)
}

// SetCluster says how a cluster is.
func (f *Fleet) SetCluster(c status.Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clusters[c.Name] = c
}

// SetResources says what each ApplicationSet deploys.
func (f *Fleet) SetResources(all ...v1alpha1.ResourceRef) { f.resources = all }

// AddApplication adds one of the hub.
func (f *Fleet) AddApplication(a hubapps.Application) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.apps = append(f.apps, &a)
}

// Sets is that of a source.
func (f *Fleet) Sets() []types.NamespacedName {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.rows))
}

// Rows is that of a source.
func (f *Fleet) Rows(set types.NamespacedName) ([]*merge.Row, []v1alpha1.ResourceRef) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rows[set]), f.resources
}

// Cluster is that of a source.
func (f *Fleet) Cluster(name string) status.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clusters[name]
}

// Applications are those of the hub that have something to say.
func (f *Fleet) Applications(allowed func(string) bool) []*hubapps.Application {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.apps), func(a *hubapps.Application) bool { return !allowed(a.Namespace) })
}

// Namespaces are those of the Applications.
func (f *Fleet) Namespaces() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]struct{}{}
	for _, a := range f.apps {
		all[a.Namespace] = struct{}{}
	}
	return slices.Collect(maps.Keys(all))
}

// Synced is always true.
func (f *Fleet) Synced() bool { return true }

// Tokens is an identity of tokens and the namespaces that they see; nil sees all.
type Tokens struct {
	mu  sync.Mutex
	all map[string][]string
	// Err is what every question is answered with, unless it is nil.
	err error
}

// NewTokens returns an identity.
func NewTokens(all map[string][]string) *Tokens { return &Tokens{all: maps.Clone(all)} }

// Fail answers every question with an error; nil ends that.
func (t *Tokens) Fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

// Revoke takes a token away.
func (t *Tokens) Revoke(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, token)
}

// Authenticate is that of an identity; the viewer's name is the token.
func (t *Tokens) Authenticate(_ context.Context, token string) (*access.Viewer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	if _, ok := t.all[token]; !ok {
		return nil, access.ErrUnknown
	}
	return &access.Viewer{Name: token}, nil
}

// Allowed is that of an identity: like a review, its answer is about the namespaces that are
// there now.
func (t *Tokens) Allowed(_ context.Context, v *access.Viewer, there []string) (func(string) bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return nil, fmt.Errorf("review rights: %w", t.err)
	}
	namespaces, ok := t.all[v.Name]
	return func(n string) bool {
		return ok && (namespaces == nil || slices.Contains(namespaces, n) && slices.Contains(there, n))
	}, nil
}

// Forget is that of an identity.
func (t *Tokens) Forget(*access.Viewer) {}
