// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const (
	holdFor    = 5 * time.Minute // how long something must be missing until it is removed
	staleAfter = 3               // intervals without an answer until data is marked stale
	slowRounds = 10              // the same for a slow answer, in its own duration
)

// reply is a decoded answer about a batch.
type reply struct {
	apps      map[string][]translate.Application // by cluster
	requested time.Time
	latency   time.Duration
	digest    search.Digest // zero when anything about it was odd
}

// restore takes over the content of a report of an earlier run.
func (s *state) restore(r *intermediate.Report, at time.Time) {
	known := map[string]translate.Cluster{}
	for i := range r.Applications {
		c := r.Applications[i].Cluster
		if st := s.clusters[c]; st != nil {
			known[c] = st.Cluster
		}
	}
	translate.Restore(r, known)
	for c, k := range known {
		st := s.clusters[c]
		if st == nil {
			st = &clusterState{unread: true}
			s.clusters[c] = st
		}
		st.StaleSince = k.StaleSince
		s.keep(c, st, k.Applications, st.leftOut)
		if st.readAt.Before(at) {
			st.readAt = at
		}
	}
}

// setClusters adds new clusters and drops those that do not exist any more. No earlier run can have
// read a cluster that joins after the first poll.
func (s *state) setClusters(exist []string) {
	existing := make(map[string]bool, len(exist))
	for _, c := range exist {
		existing[c] = true
		if s.clusters[c] == nil {
			s.clusters[c] = &clusterState{unread: !s.listed}
		}
	}
	s.listed = true
	for c, st := range s.clusters {
		if !existing[c] {
			s.keep(c, st, nil, translate.Cut{})
			delete(s.clusters, c)
		}
	}
}

// targets returns the clusters to request: those with Applications according to search, and visible
// clusters that had some or were never read.
func (s *state) targets(have []string, shown func(cluster string) bool) []string {
	has := make(map[string]bool, len(have))
	for _, c := range have {
		has[c] = true
	}
	var out []string
	for c, st := range s.clusters {
		if has[c] || (len(st.Applications) > 0 || st.unread) && shown(c) {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}

// lastAnswer returns the answer from which everything about a batch comes, or the zero answer if
// several answers are the source.
func (s *state) lastAnswer(batch []string) answer {
	first := s.clusters[batch[0]]
	if first == nil || first.answer == nil || !slices.Equal(first.answer.clusters, batch) {
		return answer{}
	}
	for _, c := range batch {
		if st := s.clusters[c]; st == nil || st.answer != first.answer {
			return answer{}
		}
	}
	return *first.answer
}

// confirm has the effect of applying the same answer again.
func (s *state) confirm(a answer, requested time.Time, latency time.Duration) {
	for _, c := range a.clusters {
		if st := s.clusters[c]; st != nil {
			st.unread, st.readAt, st.latency = false, requested, latency
			kept, expired := translate.Expire(st.Applications, requested.Add(-holdFor))
			if st.StaleSince == nil && !expired {
				continue
			}
			st.StaleSince = nil
			s.keep(c, st, kept, st.leftOut)
		}
	}
}

// apply applies an answer. It skips a cluster without rows if search may hide the cluster from the
// account. It also skips a cluster if relations may have failed. empty is true if an answer was
// empty, and so depends on the clusters that search shows to the account.
func (s *state) apply(clusters []string, r reply, visible func(cluster string) bool) (empty bool) {
	a := &answer{clusters: clusters, digest: r.digest}
	whole := r.digest != search.Digest{}
	for _, c := range clusters {
		st, fresh := s.clusters[c], r.apps[c]
		if st == nil {
			whole = false
			continue // it does not exist any more
		}
		st.answer = nil
		mayHave := len(st.Applications) > 0 || st.unread
		if len(fresh) == 0 && mayHave {
			empty, whole = true, whole && len(st.Applications) == 0
			if !visible(c) {
				whole = false
				continue
			}
		}
		if st.unread && len(st.Applications) == 0 && lacksRelations(fresh) && !st.outlasts(r.requested) {
			whole = false
			continue
		}
		st.unread, st.lackingSince, st.readAt, st.latency = false, time.Time{}, r.requested, r.latency
		merged := translate.Merge(st.Applications, fresh, r.requested.UTC().Truncate(time.Second))
		merged, _ = translate.Expire(merged, r.requested.Add(-holdFor))
		s.replace(c, st, merged)
	}
	for _, c := range clusters {
		if st := s.clusters[c]; whole && st != nil {
			st.answer = a
		}
	}
	return empty
}

// lacksRelations reports whether a first answer about a cluster has no object although there should
// be some. A failed query for relations has that effect.
func lacksRelations(apps []translate.Application) bool {
	lacking := false
	for i := range apps {
		if len(apps[i].Resources) > 0 {
			return false
		}
		lacking = lacking || apps[i].LacksResources
	}
	return lacking
}

// outlasts reports whether relations may have failed in a cluster's answers for a long time, while
// other clusters have relations. Then the cluster may really have none.
func (st *clusterState) outlasts(now time.Time) bool {
	if st.lackingSince.IsZero() {
		st.lackingSince = now
	}
	return now.Sub(st.lackingSince) >= holdFor
}

// loses reports whether an answer without related rows removes resources of an Application in it,
// or may do so because the cluster was never read.
func (s *state) loses(clusters []string, fresh map[string][]translate.Application) bool {
	return slices.ContainsFunc(clusters, func(c string) bool {
		st := s.clusters[c]
		return st != nil && (translate.Loses(st.Applications, fresh[c]) || st.unread && lacksRelations(fresh[c]))
	})
}

// witness returns the smallest cluster that is not among clusters and had resources in its last
// answer. It returns "" if no such cluster exists.
func (s *state) witness(clusters []string) (witness string) {
	for c, st := range s.clusters {
		if st.unread || st.StaleSince != nil || !translate.HasResources(st.Applications) || slices.Contains(clusters, c) {
			continue
		}
		if before := s.clusters[witness]; before == nil || cmp.Or(cmp.Compare(st.bytes, before.bytes), cmp.Compare(c, witness)) < 0 {
			witness = c
		}
	}
	return witness
}

// replace changes the memory of a cluster.
func (s *state) replace(cluster string, st *clusterState, apps []translate.Application) {
	apps, cut := translate.Limit(cluster, apps, maxCluster)
	if st.StaleSince == nil && cut == st.leftOut && equal(st.Applications, apps) {
		return
	}
	st.StaleSince = nil
	s.keep(cluster, st, apps, cut)
	s.fit()
}

func equal(a, b []translate.Application) bool {
	return slices.EqualFunc(a, b, func(x, y translate.Application) bool {
		return x.Compare(&y) == 0 && x.LacksResources == y.LacksResources && x.LeftOut == y.LeftOut && x.AbsentSince.Equal(y.AbsentSince) &&
			slices.Equal(x.Resources, y.Resources) && slices.Equal(x.Conditions, y.Conditions) &&
			slices.EqualFunc(x.Held, y.Held, func(h, k intermediate.HeldResource) bool { return h.Resource == k.Resource && h.Since.Equal(k.Since) })
	})
}

// markStale records the age of clusters with a last valid answer that is several polls old, and
// returns them. A single failure is no reason to write every report twice, and a cluster with slow
// answers is requested less often.
func (s *state) markStale(started time.Time) (dated []string) {
	for c, st := range s.clusters {
		grace := staleAfter * s.interval
		if st.latency > s.interval {
			grace = max(grace, slowRounds*st.latency)
		}
		at := st.readAt
		if len(st.Applications) == 0 || st.StaleSince != nil || !at.Before(started) || started.Sub(at) < grace {
			continue
		}
		since := at.UTC().Truncate(time.Second)
		st.StaleSince = &since
		s.markDirty(st.Applications)
		dated = append(dated, c)
	}
	slices.Sort(dated)
	return dated
}

// all returns the memory by cluster.
func (s *state) all() iter.Seq2[string, *translate.Cluster] {
	return func(next func(string, *translate.Cluster) bool) {
		for c, st := range s.clusters {
			if !next(c, &st.Cluster) {
				return
			}
		}
	}
}
