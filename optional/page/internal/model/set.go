// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Set is one ApplicationSet at one time. It never changes.
type Set struct {
	Key types.NamespacedName
	// Rows are sorted by cluster, then by name.
	Rows   []*App
	Counts Counts
	// Clusters is the number of clusters.
	Clusters int

	version uint64           // version of the fleet at that time
	causes  map[*App][]Cause // of rows with conditions
}

// newSet returns a set. It keeps rows.
func newSet(key types.NamespacedName, rows []*App, version uint64, before *Set) *Set {
	slices.SortFunc(rows, compareApps)
	s := &Set{Key: key, Rows: rows, version: version, causes: map[*App][]Cause{}}
	cluster := ""
	for _, a := range rows {
		s.Counts.Add(a)
		if a.Cluster != cluster {
			cluster = a.Cluster
			s.Clusters++
		}
		if len(a.Conditions) == 0 {
			continue
		}
		if before != nil {
			if causes, ok := before.causes[a]; ok {
				s.causes[a] = causes
				continue
			}
		}
		s.causes[a] = causesOf(a)
	}
	return s
}

// On returns the rows of one cluster.
func (s *Set) On(cluster string) []*App {
	first, _ := slices.BinarySearchFunc(s.Rows, cluster, func(a *App, c string) int { return cmp.Compare(a.Cluster, c) })
	last := first
	for last < len(s.Rows) && s.Rows[last].Cluster == cluster {
		last++
	}
	return s.Rows[first:last]
}

// Causes returns the errors of a row, one for each of its conditions.
func (s *Set) Causes(a *App) []Cause { return s.causes[a] }

// CompareSets compares ApplicationSets: the worst first, then by size, then by name.
func CompareSets(a, b *Set) int {
	return cmp.Or(compareCounts(&a.Counts, &b.Counts), compareKeys(a.Key, b.Key))
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Revision is a revision and the number of Applications that have it.
type Revision struct {
	Name  string
	Count int
}

// Revisions returns the revisions of a set, sorted by frequency. A row without a revision counts as
// "".
func (s *Set) Revisions() []Revision {
	counts := map[string]int{}
	for _, a := range s.Rows {
		counts[a.Revision]++
	}
	all := make([]Revision, 0, len(counts))
	for name, n := range counts {
		all = append(all, Revision{name, n})
	}
	slices.SortFunc(all, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return all
}
