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

// View is the fleet at one moment. It never changes.
type View struct {
	// Namespaces are those that have Applications, sorted.
	Namespaces []string

	made     time.Time
	version  uint64
	moved    uint64
	sets     []*Set // by key; those without a name have the Applications that no ApplicationSet controls
	clusters map[string]Cluster

	mu sync.Mutex
	// overviews are by the namespaces that may be seen, before are those of the view before.
	overviews, before map[string]*Overview
}

// maxOverviews is how many are kept: one for each group of viewers with other rights.
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

// Rights are what a viewer may see.
type Rights struct {
	// All: of every namespace.
	All bool
	// Namespaces are those that may be seen, sorted, unless it is all.
	Namespaces []string
}

// Allow reports whether a namespace may be seen.
func (r Rights) Allow(namespace string) bool {
	if r.All {
		return true
	}
	_, found := slices.BinarySearch(r.Namespaces, namespace)
	return found
}

// Any reports whether anything may be seen.
func (r Rights) Any() bool { return r.All || len(r.Namespaces) > 0 }

// Overview is what a viewer may see of a [View]. It never changes, and all viewers with the
// same rights share it.
type Overview struct {
	// Sets are the ApplicationSets by name.
	Sets  []*Set
	Total Counts
	// Version tells this one from what the same viewer may see at another moment.
	Version string
	// Worst are the same ApplicationSets by [CompareSets], Clusters and Groups are theirs.
	Worst    func() []*Set
	Clusters func() []ClusterCounts
	Groups   func() []Group
	// Undelivered are the Applications that have a state, by [CompareDelivery].
	Undelivered func() []*App
	// Matrix is the heat map as [Matrix.MarshalBinary] makes it.
	Matrix func() ([]byte, error)

	clusters map[string]Cluster
	all      []*Set
}

// Overview returns what a viewer may see.
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
		o = before // nothing of it has changed: what was made of it is still true
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
		_, _ = version.Write(number[:]) // a hash takes everything
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

// Set returns one ApplicationSet; nil: the viewer may see none of that name.
func (o *Overview) Set(key types.NamespacedName) *Set {
	at, found := slices.BinarySearchFunc(o.Sets, key, func(s *Set, key types.NamespacedName) int { return compareKeys(s.Key, key) })
	if !found {
		return nil
	}
	return o.Sets[at]
}

// Find returns an Application and its ApplicationSet, which has no name where there is none.
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

// Cluster returns what is known about a ManagedCluster.
func (o *Overview) Cluster(name string) Cluster {
	c := o.clusters[name]
	c.Name = name
	return c
}
