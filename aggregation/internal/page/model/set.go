// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// Set is one ApplicationSet at one moment. It never changes.
type Set struct {
	Key types.NamespacedName
	// Rows are sorted by [merge.Compare].
	Rows      []*merge.Row
	Resources []v1alpha1.ResourceRef
	Counts    Counts
	// Clusters is how many there are.
	Clusters int

	causes map[*merge.Row][]Cause // of rows with conditions
}

func newSet(key types.NamespacedName, rows []*merge.Row, resources []v1alpha1.ResourceRef, before *Set) *Set {
	s := &Set{Key: key, Rows: rows, Resources: resources, causes: map[*merge.Row][]Cause{}}
	cluster := ""
	for _, r := range rows {
		s.Counts.Add(r)
		if r.Cluster != cluster {
			cluster = r.Cluster
			s.Clusters++
		}
		if len(r.Conditions) == 0 {
			continue
		}
		if before != nil {
			if causes, ok := before.causes[r]; ok {
				s.causes[r] = causes
				continue
			}
		}
		s.causes[r] = causesOf(r)
	}
	return s
}

// On returns the rows of one cluster.
func (s *Set) On(cluster string) []*merge.Row {
	first, _ := slices.BinarySearchFunc(s.Rows, cluster, func(r *merge.Row, c string) int { return cmp.Compare(r.Cluster, c) })
	last := first
	for last < len(s.Rows) && s.Rows[last].Cluster == cluster {
		last++
	}
	return s.Rows[first:last]
}

// Causes returns the errors of a row, one for each of its conditions.
func (s *Set) Causes(r *merge.Row) []Cause { return s.causes[r] }

// CompareSets orders ApplicationSets, the worst first, then by size, then by name.
func CompareSets(a, b *Set) int {
	return cmp.Or(compareCounts(&a.Counts, &b.Counts), compareKeys(a.Key, b.Key))
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Revision is a revision and how many Applications are at it.
type Revision struct {
	Name  string
	Count int
}

// Revisions returns those of a set, the most frequent first, which is what a rollout
// looks like. A row without a revision counts as "".
func (s *Set) Revisions() []Revision {
	counts := map[string]int{}
	for _, r := range s.Rows {
		counts[r.SyncRevision]++
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
