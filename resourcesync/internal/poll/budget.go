// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"maps"
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// resize counts what a cluster takes, and records what of it did not fit.
func (s *state) resize(cluster string, st *clusterState, cut translate.Cut) {
	s.bytes -= st.bytes
	st.bytes, st.leftOut = translate.Size(cluster, st.Applications), cut
	s.bytes += st.bytes
}

// lower lowers the level until all fit, with some room.
func (s *state) lower() {
	sizes := make([]int, 0, len(s.clusters))
	for _, st := range s.clusters {
		sizes = append(sizes, st.bytes)
	}
	s.level = min(s.level, translate.Level(sizes, s.limit/10*9))
	for c, st := range s.clusters {
		if st.bytes <= s.level {
			continue
		}
		apps, cut := translate.Limit(c, st.Applications, s.level)
		cut.Applications += st.leftOut.Applications
		cut.Resources += st.leftOut.Resources
		s.markDirty(st.Applications)
		st.Applications = apps
		s.resize(c, st, cut)
	}
}

// raise lets the level rise again when there is room. What did not fit is decoded
// once more then.
func (s *state) raise() {
	if s.level >= maxCluster || s.bytes > s.limit/2 {
		return
	}
	s.level = min(2*s.level, maxCluster)
	for _, st := range s.clusters {
		if st.leftOut != (translate.Cut{}) {
			st.answer = nil
		}
	}
}

// shorten makes a report fit into a file, and returns what it left out. Rows that are
// larger than others lose resources first. When that is not enough, the clusters with the
// most lose rows: what a cluster claims to run costs the others nothing.
func shorten(r *intermediate.Report) (cut translate.Cut) {
	limit := intermediate.MaxReportBytes - 1<<16 // the rest of the report
	for _, c := range r.UnreadClusters {
		limit -= len(c) + 3
	}
	sizes := make([]int, len(r.Applications))
	total := 0
	for i := range r.Applications {
		sizes[i] = translate.RowSize(&r.Applications[i])
		total += sizes[i]
	}
	if total <= limit {
		return cut
	}
	level := translate.Level(sizes, limit)
	total = 0
	byCluster := map[string]int{}
	for i := range r.Applications {
		if sizes[i] > level {
			cut.Resources += translate.ShortenRow(&r.Applications[i], level)
			sizes[i] = translate.RowSize(&r.Applications[i])
		}
		total += sizes[i]
		byCluster[r.Applications[i].Cluster] += sizes[i]
	}
	if total <= limit {
		return cut
	}
	level = translate.Level(slices.Collect(maps.Values(byCluster)), limit)
	kept := r.Applications[:0]
	left := map[string]int{}
	for i := range r.Applications {
		c := r.Applications[i].Cluster
		if left[c] += sizes[i]; left[c] > level {
			cut.Applications++
			cut.Resources += len(r.Applications[i].Resources)
			continue
		}
		kept = append(kept, r.Applications[i])
	}
	r.Applications = kept
	return cut
}
