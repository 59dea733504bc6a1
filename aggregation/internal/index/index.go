// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Index holds the rows of every ApplicationSet. It is safe for concurrent use.
type Index struct {
	changed func(types.NamespacedName)
	others  []Source

	mu       sync.Mutex
	sets     map[types.NamespacedName]*set
	works    map[types.NamespacedName]*entry
	clusters map[string]*cluster
	stale    int // clusters with rows that are not available
}

// New returns an empty index. changed is called for every ApplicationSet with different rows or
// resources, and must not call the index. The index adds the rows of others to its own, and they
// report their changes themselves.
func New(changed func(types.NamespacedName), others ...Source) *Index {
	return &Index{
		changed:  changed,
		others:   others,
		sets:     map[types.NamespacedName]*set{},
		works:    map[types.NamespacedName]*entry{},
		clusters: map[string]*cluster{},
	}
}

// touched gathers the ApplicationSets that a change made different.
type touched map[types.NamespacedName]struct{}

func (t touched) add(key types.NamespacedName, differs bool) {
	if differs {
		t[key] = struct{}{}
	}
}

// update runs change and reports the ApplicationSets that it touched, after
// the lock is free again.
func (x *Index) update(change func(touched)) {
	t := touched{}
	x.mu.Lock()
	change(t)
	x.mu.Unlock()
	for key := range maps.Keys(t) {
		x.changed(key)
	}
}

// SetWork takes in a ManifestWork that is new or has changed.
func (x *Index) SetWork(w *manifestcache.Work) {
	key := setOf(w)
	x.update(func(t touched) {
		e := x.works[keyOf(w)]
		if e != nil && !sameRow(e.work, w) {
			x.remove(e, t)
			e = nil
		}
		s := x.set(key)
		if e != nil {
			moved := placeOf(e.work) != placeOf(w)
			e.work = w
			if moved {
				t.add(key, s.attach(e))
			}
			t.add(key, x.refresh(e))
			t.add(key, s.retarget(applicationOf(w)))
			return
		}
		e = &entry{work: w}
		x.works[keyOf(w)] = e
		x.change(x.cluster(w.Namespace), func(c *cluster) { c.works[e] = struct{}{} })
		s.attach(e)
		x.refresh(e)
		s.insert(e)
		s.retarget(applicationOf(w))
		t.add(key, true)
	})
}

// DeleteWork removes a ManifestWork.
func (x *Index) DeleteWork(key types.NamespacedName) {
	x.update(func(t touched) {
		if e := x.works[key]; e != nil {
			x.remove(e, t)
		}
	})
}

// SetCluster adds, replaces or removes a ManagedCluster.
func (x *Index) SetCluster(state status.Cluster) {
	x.update(func(t touched) {
		c := x.cluster(state.Name)
		same := c.state == state
		x.change(c, func(c *cluster) { c.state = state })
		if same {
			return
		}
		for e := range c.works {
			t.add(setOf(e.work), x.refresh(e))
		}
	})
}

// SetSearch takes in a good intermediate report.
func (x *Index) SetSearch(r *intermediate.Report) {
	key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	found := newFindings(r)
	x.update(func(t touched) {
		s := x.set(key)
		remembered := s.remembered
		switch {
		case s.readBy(found):
			remembered = nil
		case remembered == nil && s.search != nil && s.readBy(s.search):
			// resourcesync has restarted: its earlier findings remain until it has read all
			// Applications
			remembered = x.remembering(key, s.statuses())
		}
		x.know(key, s, found, remembered, t)
	})
}

// DeleteSearch removes the findings of search about an ApplicationSet.
func (x *Index) DeleteSearch(key types.NamespacedName) {
	x.update(func(t touched) {
		if s := x.sets[key]; s != nil {
			x.know(key, s, nil, nil, t)
			x.dropIfEmpty(key, s)
		}
	})
}

// Remember records the report of an ApplicationSet that this process has found. It supplies data
// without another source: the resources, and values that feedback does not contain. It is dropped
// when an intermediate report covers all Applications of the ApplicationSet. It is also dropped 15
// minutes after it was read, unless search has reported on none of them yet. Then the rows show since
// when.
func (x *Index) Remember(key types.NamespacedName, report *v1alpha1.AppSetStatuses) {
	x.update(func(t touched) {
		s := x.set(key)
		if s.remembered == nil && (s.search == nil || !s.readBy(s.search)) {
			x.know(key, s, s.search, x.remembering(key, *report), t)
		}
	})
}

// Forget drops the old report of a deleted ApplicationSet.
func (x *Index) Forget(key types.NamespacedName) {
	x.update(func(t touched) {
		if s := x.sets[key]; s != nil {
			x.know(key, s, s.search, nil, t)
			x.dropIfEmpty(key, s)
		}
	})
}

// remembering returns the memory of a report, which ends by itself.
func (x *Index) remembering(key types.NamespacedName, report v1alpha1.AppSetStatuses) *memory {
	m, now := newMemory(&report), time.Now()
	time.AfterFunc(staleAfter, func() { x.dateMemory(key, m, now) })
	time.AfterFunc(remembers, func() { x.endMemory(key, m) })
	return m
}

// dateMemory has the rows of a memory show its age, if search has reported nothing yet.
func (x *Index) dateMemory(key types.NamespacedName, m *memory, since time.Time) {
	x.update(func(t touched) {
		if s := x.sets[key]; s != nil && s.remembered == m && s.search == nil && m.fromSearch() {
			m.since = since.UTC().Format(time.RFC3339)
			x.know(key, s, nil, m, t)
		}
	})
}

// endMemory drops a memory. Until search has reported on an Application of the ApplicationSet, only
// the memory has findings of search, and so it stays.
func (x *Index) endMemory(key types.NamespacedName, m *memory) {
	x.update(func(t touched) {
		switch s := x.sets[key]; {
		case s == nil || s.remembered != m:
		case m.fromSearch() && s.unsearched():
			time.AfterFunc(remembers, func() { x.endMemory(key, m) })
		default:
			x.know(key, s, s.search, nil, t)
			x.dropIfEmpty(key, s)
		}
	})
}

// know changes the data about an ApplicationSet from other sources than works.
func (x *Index) know(key types.NamespacedName, s *set, search *findings, remembered *memory, t touched) {
	t.add(key, s.know(search, remembered))
	for _, e := range s.entries {
		t.add(key, x.refresh(e))
	}
}

// refresh updates the row of an entry and reports whether it differs.
func (x *Index) refresh(e *entry) bool {
	s := x.set(setOf(e.work))
	row := e.makeRow(x.cluster(e.work.Namespace).state, s)
	if e.row != nil && e.row.Equal(row) {
		return false
	}
	e.row = row
	return true
}

func (x *Index) remove(e *entry, t touched) {
	delete(x.works, keyOf(e.work))
	x.change(x.cluster(e.work.Namespace), func(c *cluster) { delete(c.works, e) })
	s := x.set(setOf(e.work))
	s.detach(e)
	s.remove(e)
	s.retarget(applicationOf(e.work))
	x.dropIfEmpty(setOf(e.work), s)
	t.add(setOf(e.work), true)
}

func (x *Index) set(key types.NamespacedName) *set {
	s := x.sets[key]
	if s == nil {
		s = &set{}
		x.sets[key] = s
	}
	return s
}

func (x *Index) dropIfEmpty(key types.NamespacedName, s *set) {
	if len(s.entries) == 0 && s.search == nil && s.remembered == nil {
		delete(x.sets, key)
	}
}

func (x *Index) cluster(name string) *cluster {
	c := x.clusters[name]
	if c == nil {
		c = &cluster{state: status.Cluster{Name: name}, works: map[*entry]struct{}{}}
		x.clusters[name] = c
	}
	return c
}

// change changes a cluster and counts the stale clusters. It drops the cluster when the cluster
// neither exists nor is used.
func (x *Index) change(c *cluster, change func(*cluster)) {
	before := c.stale()
	change(c)
	x.stale += c.stale() - before
	staleGauge.Set(float64(x.stale))
	if !c.state.Exists && len(c.works) == 0 {
		delete(x.clusters, c.state.Name)
	}
}

// Source has rows of Applications that no ManifestWork of the index carries.
type Source interface {
	// Sets returns the ApplicationSets that have such rows.
	Sets() []types.NamespacedName
	// Rows returns the rows of an ApplicationSet, sorted by [merge.Compare].
	Rows(types.NamespacedName) []*merge.Row
}
