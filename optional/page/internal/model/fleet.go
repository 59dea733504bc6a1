// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Cluster is the state of a ManagedCluster.
type Cluster struct {
	status.Cluster
	// ArgoCD is the https address of its Argo CD, or "".
	ArgoCD string
}

// Fleet has the hub's Applications and its ManagedClusters. It is safe for concurrent use.
type Fleet struct {
	mu       sync.Mutex
	apps     map[types.NamespacedName]*App
	members  map[types.NamespacedName]map[*App]struct{} // by ApplicationSet
	clusters map[string]Cluster
	version  uint64 // counts changes
	moved    uint64 // the version of the last change of a cluster

	sets  map[types.NamespacedName]*Set
	stale map[types.NamespacedName]struct{} // keys of sets that have changed
	view  *View
}

// NewFleet returns an empty fleet.
func NewFleet() *Fleet {
	f := &Fleet{clusters: map[string]Cluster{}, sets: map[types.NamespacedName]*Set{}, stale: map[types.NamespacedName]struct{}{}}
	f.clear()
	return f
}

func (f *Fleet) clear() {
	f.apps, f.members = map[types.NamespacedName]*App{}, map[types.NamespacedName]map[*App]struct{}{}
}

// Put adds an Application or replaces its earlier version.
func (f *Fleet) Put(a *App) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before := f.apps[a.Key()]; before == nil || !before.Equal(a) {
		f.add(a)
	}
}

// Delete removes an Application from the fleet.
func (f *Fleet) Delete(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a := f.apps[key]; a != nil {
		f.remove(a)
	}
}

// Replace sets all Applications. An App that has not changed stays the same object.
func (f *Fleet) Replace(all []*App) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.apps
	for key := range f.members {
		f.stale[key] = struct{}{}
	}
	f.clear()
	for _, a := range all {
		if was := before[a.Key()]; was != nil && was.Equal(a) {
			a = was
		}
		f.add(a)
	}
	f.version++
}

func (f *Fleet) add(a *App) {
	if before := f.apps[a.Key()]; before != nil {
		f.remove(before)
	}
	f.apps[a.Key()] = a
	owner := a.owner()
	if f.members[owner] == nil {
		f.members[owner] = map[*App]struct{}{}
	}
	f.members[owner][a] = struct{}{}
	f.stale[owner] = struct{}{}
	f.version++
}

func (f *Fleet) remove(a *App) {
	delete(f.apps, a.Key())
	owner := a.owner()
	if delete(f.members[owner], a); len(f.members[owner]) == 0 {
		delete(f.members, owner)
	}
	f.stale[owner] = struct{}{}
	f.version++
}

// SetCluster adds, replaces or removes a ManagedCluster.
func (f *Fleet) SetCluster(c Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clusters[c.Name] == c {
		return
	}
	f.clusters = maps.Clone(f.clusters) // views share the earlier map
	if f.clusters[c.Name] = c; !c.Exists {
		delete(f.clusters, c.Name)
	}
	f.version++
	f.moved = f.version
}

// Interval is how old a [View] may be while the fleet changes.
const Interval = time.Second

// View returns the present state of the fleet. While the fleet changes, all callers within one
// [Interval] share a view.
func (f *Fleet) View(now time.Time) *View {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.view; v != nil && (v.version == f.version || now.Sub(v.made) < Interval) {
		return v
	}
	for key := range f.stale {
		if members := f.members[key]; len(members) > 0 {
			f.sets[key] = newSet(key, slices.Collect(maps.Keys(members)), f.version, f.sets[key])
		} else {
			delete(f.sets, key)
		}
	}
	clear(f.stale)
	f.view = newView(f.sets, f.clusters, f.version, f.moved, now, f.view)
	return f.view
}
