// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// View is the fleet at one time. It never changes.
type View struct {
	// Namespaces are the namespaces with Applications, sorted.
	Namespaces []string

	made     time.Time
	version  uint64
	moved    uint64
	sets     []*Set // by key, a set without a name has the Applications without an ApplicationSet
	clusters map[string]Cluster

	mu sync.Mutex
	// overviews are keyed by the visible namespaces. before has the overviews of the previous view.
	overviews, before map[string]*Overview
}

// maxOverviews is how many overviews are kept: one for each group of viewers with the same rights.
const maxOverviews = 8

func newView(sets map[types.NamespacedName]*Set, clusters map[string]Cluster, version, moved uint64, now time.Time, before *View) *View {
	v := &View{made: now, version: version, moved: moved, clusters: clusters, sets: slices.Collect(maps.Values(sets)), overviews: map[string]*Overview{}}
	slices.SortFunc(v.sets, func(a, b *Set) int { return compareKeys(a.Key, b.Key) })
	for _, s := range v.sets {
		if n := len(v.Namespaces); n == 0 || v.Namespaces[n-1] != s.Key.Namespace {
			v.Namespaces = append(v.Namespaces, s.Key.Namespace)
		}
	}
	if before != nil {
		before.mu.Lock()
		defer before.mu.Unlock()
		v.before, before.before = before.overviews, nil
	}
	return v
}

// Rights are the namespaces that a viewer may see.
type Rights struct {
	// All is true for a viewer who may see every namespace.
	All bool
	// Namespaces are the visible namespaces, sorted, unless All is true.
	Namespaces []string
}

// Allow reports whether the viewer may see a namespace.
func (r Rights) Allow(namespace string) bool {
	if r.All {
		return true
	}
	_, found := slices.BinarySearch(r.Namespaces, namespace)
	return found
}

// Any reports whether the viewer may see anything.
func (r Rights) Any() bool { return r.All || len(r.Namespaces) > 0 }

// Overview is the visible part of a [View]. It never changes, and all viewers with the same rights
// share it.
type Overview struct {
	// Sets are the ApplicationSets, sorted by name.
	Sets  []*Set
	Total Counts
	// Version identifies the content for viewers with these rights.
	Version string
	// Worst are the same ApplicationSets sorted by [CompareSets]. Clusters and Groups belong to
	// them.
	Worst    func() []*Set
	Clusters func() []ClusterCounts
	Groups   func() []Group
	// Undelivered are the Applications with a state, sorted by [CompareDelivery].
	Undelivered func() []*App
	// Matrix returns the heat map in the form of [Matrix.MarshalBinary].
	Matrix func() ([]byte, error)

	clusters map[string]Cluster
	all      []*Set
}

// Overview returns the part of the view that a viewer may see.
func (v *View) Overview(r Rights) *Overview {
	key := "*"
	if !r.All {
		key = strings.Join(r.Namespaces, " ")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if o := v.overviews[key]; o != nil {
		return o
	}
	o := newOverview(v, r)
	if before := v.before[key]; before != nil && before.Version == o.Version {
		o = before // none of its content has changed
	}
	if len(v.overviews) >= maxOverviews {
		clear(v.overviews)
	}
	v.overviews[key] = o
	return o
}

func newOverview(v *View, r Rights) *Overview {
	o := &Overview{clusters: v.clusters}
	version := fnv.New64a()
	var number [8]byte
	say := func(n uint64) {
		binary.BigEndian.PutUint64(number[:], n)
		_, _ = version.Write(number[:]) // writing to a hash returns no error
	}
	say(v.moved)
	for _, s := range v.sets {
		if !r.Allow(s.Key.Namespace) {
			continue
		}
		_, _ = version.Write([]byte(s.Key.String()))
		say(s.version)
		o.all = append(o.all, s)
		if s.Key.Name != "" {
			o.Sets = append(o.Sets, s)
		}
	}
	o.Version = ID(string(version.Sum(nil)))
	o.Total = Total(o.Sets)
	o.Worst = sync.OnceValue(func() []*Set { return slices.SortedFunc(slices.Values(o.Sets), CompareSets) })
	o.Clusters = sync.OnceValue(func() []ClusterCounts { return Clusters(o.Sets) })
	o.Groups = sync.OnceValue(func() []Group { return Groups(o.Sets) })
	o.Undelivered = sync.OnceValue(o.undelivered)
	o.Matrix = sync.OnceValues(func() ([]byte, error) {
		m, err := NewMatrix(o.Sets)
		if err != nil {
			return nil, err
		}
		return m.MarshalBinary()
	})
	return o
}

func (o *Overview) undelivered() (apps []*App) {
	for _, s := range o.all {
		for _, a := range s.Rows {
			if a.State != "" {
				apps = append(apps, a)
			}
		}
	}
	slices.SortFunc(apps, CompareDelivery)
	return apps
}

// Set returns one ApplicationSet, or nil if the viewer cannot see one of that name.
func (o *Overview) Set(key types.NamespacedName) *Set {
	at, found := slices.BinarySearchFunc(o.Sets, key, func(s *Set, key types.NamespacedName) int { return compareKeys(s.Key, key) })
	if !found {
		return nil
	}
	return o.Sets[at]
}

// Find returns an Application and its ApplicationSet. The ApplicationSet has no name if none
// exists.
func (o *Overview) Find(key types.NamespacedName) (Item, bool) {
	for _, s := range o.all {
		if s.Key.Namespace != key.Namespace {
			continue
		}
		for _, a := range s.Rows {
			if a.Name == key.Name {
				return Item{s, a}, true
			}
		}
	}
	return Item{}, false
}

// Cluster returns the state of a ManagedCluster.
func (o *Overview) Cluster(name string) Cluster {
	c := o.clusters[name]
	c.Name = name
	return c
}
