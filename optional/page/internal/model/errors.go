// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"
)

// Group is an error and the number of Applications that have it.
type Group struct {
	Cause
	// Count is the number of Applications.
	Count, Sets, Clusters int
	// Examples are the first rows, at most [maxExamples].
	Examples []Item
}

const maxExamples = 20

// Groups returns the errors of ApplicationSets, the most frequent first, warnings last.
func Groups(sets []*Set) []Group {
	type gathered struct {
		Group
		clusters map[string]struct{}
		last     *Set
	}
	all := map[Cause]*gathered{}
	for _, set := range sets {
		if len(set.causes) == 0 {
			continue
		}
		for _, row := range set.Rows {
			for _, s := range set.causes[row] {
				g := all[s]
				if g == nil {
					g = &gathered{Group: Group{Cause: s}, clusters: map[string]struct{}{}}
					all[s] = g
				}
				g.Count++
				g.clusters[row.Cluster] = struct{}{}
				if g.last != set {
					g.last = set
					g.Sets++
				}
				if len(g.Examples) < maxExamples {
					g.Examples = append(g.Examples, Item{set, row})
				}
			}
		}
	}
	groups := make([]Group, 0, len(all))
	for _, g := range all {
		g.Clusters = len(g.clusters)
		groups = append(groups, g.Group)
	}
	slices.SortFunc(groups, compareGroups)
	return groups
}

func compareGroups(a, b Group) int {
	if a.Warning() != b.Warning() {
		if a.Warning() {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Type(), b.Type()), cmp.Compare(a.Text(), b.Text()))
}
