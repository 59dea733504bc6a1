// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"
)

// ClusterCounts are the counts of a viewer's ApplicationSets on one managed cluster.
type ClusterCounts struct {
	Name   string
	Counts Counts
	Sets   int
}

// Clusters returns the clusters of ApplicationSets: the worst first, then by size, then by name.
func Clusters(sets []*Set) []ClusterCounts {
	all := map[string]*ClusterCounts{}
	for _, s := range sets {
		for i, r := range s.Rows {
			if r.Cluster == "" {
				continue // it names no cluster
			}
			c := all[r.Cluster]
			if c == nil {
				c = &ClusterCounts{Name: r.Cluster}
				all[r.Cluster] = c
			}
			c.Counts.Add(r)
			if i == 0 || s.Rows[i-1].Cluster != r.Cluster {
				c.Sets++
			}
		}
	}
	clusters := make([]ClusterCounts, 0, len(all))
	for _, c := range all {
		clusters = append(clusters, *c)
	}
	slices.SortFunc(clusters, func(a, b ClusterCounts) int {
		return cmp.Or(compareCounts(&a.Counts, &b.Counts), cmp.Compare(a.Name, b.Name))
	})
	return clusters
}

// Total returns the sum over ApplicationSets.
func Total(sets []*Set) (c Counts) {
	for _, s := range sets {
		c.merge(s.Counts)
	}
	return c
}
