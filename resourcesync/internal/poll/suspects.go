// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

const (
	batchObjects = 10_000          // resources expected in one answer: some 4 MB
	divideBy     = 8               // parts of a batch that failed
	recoverAfter = 5 * time.Minute // until a cluster that failed is requested together with more
	retryAfter   = 6               // intervals at most until a cluster that fails alone is requested again
)

// batch is some clusters to request at once.
type batch struct {
	clusters []string
	known    bool // what the answer will weigh
}

// batches cuts clusters into requests by number, by what is known of their size and by
// what has failed before. Those whose answers may be of any size come last.
func (s *state) batches(clusters []string, most int) []batch {
	bySize := map[int][]string{}
	for _, c := range clusters {
		size := most
		if n := s.clusters[c].size; n > 0 {
			size = min(size, n)
		}
		bySize[size] = append(bySize[size], c)
	}
	var out []batch
	for _, size := range slices.Backward(slices.Sorted(maps.Keys(bySize))) {
		out = append(out, s.cut(bySize[size], size)...)
	}
	slices.SortStableFunc(out, func(a, b batch) int { return cmp.Compare(order(a.known), order(b.known)) })
	return out
}

func order(known bool) int {
	if known {
		return 0
	}
	return 1
}

// cut makes batches of at most size clusters.
func (s *state) cut(clusters []string, size int) []batch {
	var out []batch
	objects := 0
	for _, c := range clusters {
		apps := s.clusters[c].Applications
		weight := len(apps)
		for i := range apps {
			weight += len(apps[i].Resources)
		}
		known := len(apps) > 0
		if n := len(out); n > 0 && len(out[n-1].clusters) < size && objects+weight <= batchObjects {
			out[n-1].clusters = append(out[n-1].clusters, c)
			out[n-1].known = out[n-1].known && known
			objects += weight
			continue
		}
		out, objects = append(out, batch{clusters: []string{c}, known: known}), weight
	}
	return out
}

// split divides clusters into those that are requested together and those apart.
func (s *state) split(clusters []string) (together, apart []string) {
	for _, c := range clusters {
		if s.clusters[c].apart {
			apart = append(apart, c)
		} else {
			together = append(together, c)
		}
	}
	return together, apart
}

// nextApart returns the batch to request next of the clusters that are requested apart:
// the largest one, since most of it is well, and of single clusters one that has failed
// least often and waits longest.
func (s *state) nextApart(most int, now time.Time) []string {
	var due []string
	for c, st := range s.clusters {
		if st.apart && !now.Before(st.retryAt) {
			due = append(due, c)
		}
	}
	slices.SortFunc(due, func(a, b string) int {
		x, y := s.clusters[a], s.clusters[b]
		return cmp.Or(cmp.Compare(x.failures, y.failures), x.failedAt.Compare(y.failedAt), cmp.Compare(a, b))
	})
	batches := s.batches(due, most)
	if len(batches) == 0 {
		return nil
	}
	return slices.MaxFunc(batches, func(a, b batch) int { return cmp.Compare(len(a.clusters), len(b.clusters)) }).clusters
}

// divisible reports whether a smaller request may succeed where this one failed.
func divisible(err error) bool {
	switch search.KindOf(err) {
	case search.KindTooLarge, search.KindTimeout, search.KindStatement, search.KindIncomplete, search.KindGraphQL, search.KindMalformed:
		return true
	case search.KindStatus:
		return search.StatusOf(err) == http.StatusInternalServerError
	default:
		return false
	}
}

// setApart records that a request for a batch has failed or was slow: its clusters are
// requested apart from now on, in smaller batches.
func (s *state) setApart(clusters []string, now time.Time) {
	for _, c := range clusters {
		st := s.clusters[c]
		if st == nil {
			continue
		}
		st.apart, st.failedAt, st.size = true, now, max(1, (len(clusters)+divideBy-1)/divideBy)
	}
}

// halve makes two batches of the only one, to see which of them is slow.
func (s *state) halve(clusters []string, now time.Time) {
	for _, c := range clusters {
		if st := s.clusters[c]; st != nil {
			st.size, st.failedAt = (len(clusters)+1)/2, now
		}
	}
}

// setSlow records that the answer about a batch was good and slow.
func (s *state) setSlow(clusters []string, now time.Time) {
	s.setApart(clusters, now)
	if st := s.clusters[clusters[0]]; st != nil && len(clusters) == 1 {
		st.retryAt = now.Add(s.interval)
	}
}

// setFailed records that a cluster cannot be read even alone.
func (s *state) setFailed(cluster string, now time.Time) {
	if st := s.clusters[cluster]; st != nil {
		st.failures++
		st.failedAt = now
		wait := min(time.Duration(1)<<min(st.failures-1, 10), retryAfter) * s.interval
		st.retryAt = now.Add(wait - s.interval/2)
	}
}

// setAnswered records a good answer. Clusters that have been well for a while are
// requested in larger batches again.
func (s *state) setAnswered(clusters []string, most int, now time.Time) {
	for _, c := range clusters {
		st := s.clusters[c]
		if st == nil || st.size == 0 {
			continue
		}
		st.apart, st.failures, st.retryAt, st.logged = false, 0, time.Time{}, false
		if now.Sub(st.failedAt) >= recoverAfter {
			if st.size, st.failedAt = divideBy*st.size, now; st.size >= most {
				st.suspect = suspect{}
			}
		}
	}
}
