// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"maps"
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const (
	// maxKnown bounds what is known of all clusters, in bytes as they take in reports;
	// memory takes about as many. What all files together may take is more, for the
	// lists of clusters that they do not speak for.
	maxKnown = 40 << 20
	// maxCluster bounds what is known of one.
	maxCluster = 4 << 20
)

// budget is what the clusters take. As long as all fit, each may take maxCluster. Then
// the limit sinks until the largest fit as well: those who need little keep all.
type budget struct {
	limit int // of all together
	level int // of each
	total int
	sizes map[string]int
	cut   map[string]translate.Cut
}

func newBudget() budget {
	return budget{limit: maxKnown, level: maxCluster, sizes: map[string]int{}, cut: map[string]translate.Cut{}}
}

// set records what a cluster takes and what of it did not fit.
func (r *budget) set(cluster string, apps []translate.Application, cut translate.Cut) {
	r.total -= r.sizes[cluster]
	delete(r.sizes, cluster)
	delete(r.cut, cluster)
	if len(apps) > 0 {
		r.sizes[cluster] = translate.Size(cluster, apps)
		r.total += r.sizes[cluster]
	}
	if cut != (translate.Cut{}) {
		r.cut[cluster] = cut
	}
}

// lowerLocked lowers the level until all fit, with some to spare. The caller holds mu.
func (r *budget) lowerLocked(p *Poller) {
	r.level = min(r.level, translate.Level(slices.Collect(maps.Values(r.sizes)), r.limit/10*9))
	for c, size := range r.sizes {
		if size <= r.level {
			continue
		}
		state := p.known[c]
		apps, cut := translate.Limit(c, state.Applications, r.level)
		before := r.cut[c]
		cut.Applications += before.Applications
		cut.Resources += before.Resources
		p.markDirty(state.Applications)
		state.Applications = apps
		p.known[c] = state
		r.set(c, apps, cut)
	}
}

// raise lets the level rise again when there is room. What did not fit is decoded
// once more then.
func (r *budget) raise(p *Poller) {
	if r.level >= maxCluster || r.total > r.limit/2 {
		return
	}
	r.level = min(2*r.level, maxCluster)
	for c := range r.cut {
		p.forgetAnswerLocked(c)
	}
}

// left returns what is left out of all clusters, and of which.
func (r *budget) left() (sum translate.Cut, clusters []string) {
	for c, cut := range r.cut {
		sum.Applications += cut.Applications
		sum.Resources += cut.Resources
		clusters = append(clusters, c)
	}
	slices.Sort(clusters)
	return sum, clusters
}

// shorten makes a report fit into a file, and returns what it left out.
func shorten(r *intermediate.Report) (cut int) {
	const limit = intermediate.MaxReportBytes - 1<<16 // the rest of the report
	names := 0
	for _, c := range r.UnreadClusters {
		names += len(c) + 3
	}
	sizes := make([]int, len(r.Applications))
	total := names
	for i := range r.Applications {
		sizes[i] = translate.RowSize(&r.Applications[i])
		total += sizes[i]
	}
	if total <= limit {
		return 0
	}
	level := translate.Level(sizes, limit-names)
	for i := range r.Applications {
		if sizes[i] > level {
			cut += translate.ShortenRow(&r.Applications[i], level)
		}
	}
	return cut
}
