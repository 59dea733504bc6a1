// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Source is where the fleet is read from. It is safe for concurrent use.
type Source interface {
	// Sets returns the ApplicationSets there are.
	Sets() []types.NamespacedName
	// Rows returns the rows of one, sorted by [merge.Compare], and what it deploys.
	// Neither ever changes.
	Rows(types.NamespacedName) ([]*merge.Row, []v1alpha1.ResourceRef)
	// Cluster returns what is known about a ManagedCluster.
	Cluster(name string) status.Cluster
}

// Fleet is all ApplicationSets. It reads one when a request needs it and it has changed
// since, and holds nothing before the first request. It is safe for concurrent use.
type Fleet struct {
	source Source

	marks   sync.Mutex
	looking bool
	changed map[types.NamespacedName]struct{}

	build sync.Mutex
	sets  map[types.NamespacedName]*Set
	// overviews are of what sets holds now.
	overviews []kept
}

// NewFleet returns a fleet that is read from source.
func NewFleet(source Source) *Fleet { return &Fleet{source: source} }

// Changed says that an ApplicationSet is different now. It does not ask the source.
func (f *Fleet) Changed(key types.NamespacedName) {
	f.marks.Lock()
	defer f.marks.Unlock()
	if f.looking {
		f.changed[key] = struct{}{}
	}
}

// Release forgets everything, until the next request.
func (f *Fleet) Release() {
	f.build.Lock()
	defer f.build.Unlock()
	f.marks.Lock()
	defer f.marks.Unlock()
	f.looking, f.changed, f.sets, f.overviews = false, nil, nil, nil
}

// Held returns how many ApplicationSets are remembered.
func (f *Fleet) Held() int {
	f.build.Lock()
	defer f.build.Unlock()
	return len(f.sets)
}

// Namespaces returns those that have ApplicationSets, sorted.
func (f *Fleet) Namespaces() []string {
	keys := f.source.Sets()
	all := make([]string, 0, len(keys))
	for _, key := range keys {
		all = append(all, key.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Sets returns the ApplicationSets in the namespaces that are allowed, by name.
func (f *Fleet) Sets(allowed func(namespace string) bool) []*Set {
	keys := f.keys()
	f.build.Lock()
	defer f.build.Unlock()
	return f.allowed(keys, allowed)
}

// keys returns the ApplicationSets there are, by name.
func (f *Fleet) keys() []types.NamespacedName {
	keys := f.source.Sets()
	slices.SortFunc(keys, compareKeys)
	return keys
}

// allowed returns those of sorted keys that are allowed, as they are now.
func (f *Fleet) allowed(keys []types.NamespacedName, allowed func(namespace string) bool) []*Set {
	if len(f.sets) > len(keys) {
		f.dropGone(keys)
	}
	keys = onlyAllowed(keys, allowed)
	sets := make([]*Set, 0, len(keys))
	for _, key := range keys {
		sets = append(sets, f.set(key))
	}
	return sets
}

func onlyAllowed(keys []types.NamespacedName, allowed func(namespace string) bool) []types.NamespacedName {
	return slices.DeleteFunc(keys, func(key types.NamespacedName) bool { return !allowed(key.Namespace) })
}

// dropGone forgets ApplicationSets that are not among sorted keys.
func (f *Fleet) dropGone(keys []types.NamespacedName) {
	for key := range f.sets {
		if _, found := slices.BinarySearchFunc(keys, key, compareKeys); !found {
			delete(f.sets, key)
			f.overviews = nil
		}
	}
}

// Set returns one ApplicationSet; nil when there is none.
func (f *Fleet) Set(key types.NamespacedName) *Set {
	if !slices.Contains(f.source.Sets(), key) {
		return nil
	}
	f.build.Lock()
	defer f.build.Unlock()
	return f.set(key)
}

// set returns what is known about an ApplicationSet, as it is now.
func (f *Fleet) set(key types.NamespacedName) *Set {
	before := f.sets[key]
	// The mark goes first: a change during the look marks it again.
	if !f.takeMark(key) && before != nil {
		return before
	}
	f.overviews = nil // they would hold what it was
	rows, resources := f.source.Rows(key)
	if f.sets == nil {
		f.sets = map[types.NamespacedName]*Set{}
	}
	now := newSet(key, rows, resources, before)
	f.sets[key] = now
	return now
}

func (f *Fleet) takeMark(key types.NamespacedName) bool {
	f.marks.Lock()
	defer f.marks.Unlock()
	if !f.looking {
		f.looking, f.changed = true, map[types.NamespacedName]struct{}{}
	}
	_, changed := f.changed[key]
	delete(f.changed, key)
	return changed
}

// Cluster returns what is known about a ManagedCluster.
func (f *Fleet) Cluster(name string) status.Cluster { return f.source.Cluster(name) }

// maxOverviews is how many are remembered: one for each group of viewers with other rights.
const maxOverviews = 8

// Overview returns what the ApplicationSets in the namespaces that are allowed are
// together: now, or, so that those who ask for the same moment share it whatever changes
// meanwhile, at that moment or later. Moments are counted from 1; 0 is now.
func (f *Fleet) Overview(allowed func(namespace string) bool, moment uint64) *Overview {
	keys := f.keys()
	f.build.Lock()
	defer f.build.Unlock()
	if moment > 0 {
		seen := onlyAllowed(slices.Clone(keys), allowed)
		for _, o := range f.overviews {
			if o.moment >= moment && o.isOf(seen) {
				return o.Overview
			}
		}
	}
	sets := f.allowed(keys, allowed)
	for i, o := range f.overviews {
		if slices.Equal(o.Sets, sets) {
			f.overviews[i].moment = max(o.moment, moment)
			return o.Overview
		}
	}
	o := newOverview(sets)
	f.overviews = append(f.overviews, kept{o, moment})
	if len(f.overviews) > maxOverviews {
		f.overviews = slices.Delete(f.overviews, 0, 1)
	}
	return o
}
