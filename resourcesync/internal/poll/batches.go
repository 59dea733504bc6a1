// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

const (
	inFlight     = 2               // requests at once; more make the server slower, not the poll faster
	batchObjects = 10_000          // resources expected in one answer: some 4 MB
	recoverAfter = 5 * time.Minute // until a cluster that failed is asked about together with more
	retryAfter   = 6               // intervals at most until a cluster that fails alone is asked about again
	// hopeless is how many requests may fail in a poll before the first good answer:
	// then search is what fails, and smaller requests would only add to its load.
	giveUpAfter = 8
)

// suspect is a cluster whose batch has failed. It is asked about in ever smaller
// batches, so that one cluster that search cannot answer for costs itself only.
type suspect struct {
	size     int       // of the largest batch that it may be in
	failedAt time.Time // when a batch with it failed last
	failures int       // in a row, when asked about alone
	retryAt  time.Time // when it is asked about again; alone
	failed   bool      // in this poll
	before   int       // size before this poll
	logged   bool      // that it cannot be read
}

// batch is some clusters to ask about at once.
type batch struct {
	clusters []string
	known    bool // what the answer will weigh
}

// batches cuts the clusters into requests by number, by what is known of their size
// and by what has failed before. Those whose answers may be of any size come last.
func (p *Poller) batches(clusters []string, now time.Time) []batch {
	bySize := map[int][]string{}
	for _, c := range clusters {
		size := p.Options.BatchSize
		if s := p.suspects[c]; s != nil {
			if now.Before(s.retryAt) {
				continue
			}
			size = min(size, s.size)
		}
		bySize[size] = append(bySize[size], c)
	}
	var out []batch
	for _, size := range slices.Backward(slices.Sorted(maps.Keys(bySize))) {
		out = append(out, p.cut(bySize[size], size)...)
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
func (p *Poller) cut(clusters []string, size int) []batch {
	var out []batch
	objects := 0
	for _, c := range clusters {
		weight := 0
		state, known := p.known[c]
		for i := range state.Applications {
			weight += 1 + len(state.Applications[i].Resources)
		}
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

// divisible reports whether a smaller request may succeed where this one failed.
func divisible(err error) bool {
	switch search.KindOf(err) {
	case search.KindTooLarge, search.KindTimeout, search.KindStatement, search.KindIncomplete, search.KindGraphQL, search.KindMalformed:
		return true
	default:
		return false
	}
}

// markSuspects records that a batch has failed.
func (p *Poller) markSuspects(clusters []string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range clusters {
		s := p.suspects[c]
		if s == nil {
			s = &suspect{size: p.Options.BatchSize}
			p.suspects[c] = s
		}
		if !s.failed {
			s.failed, s.before = true, s.size
		}
		s.failedAt = now
		if s.size = max(1, (len(clusters)+1)/2); len(clusters) > 1 {
			continue
		}
		s.failures++
		wait := min(time.Duration(1)<<min(s.failures-1, 10), retryAfter) * p.Options.Interval
		s.retryAt = now.Add(wait - p.Options.Interval/2)
	}
}

// updateSuspects ends a poll: clusters that have been well for a while are asked
// about in larger batches again, and nothing is held against clusters when search
// has not answered at all.
func (p *Poller) updateSuspects() {
	if len(p.suspects) == 0 {
		return
	}
	now := time.Now()
	outage := p.outcome.good == 0
	for c, s := range p.suspects {
		switch {
		case s.failed && outage:
			s.failures, s.retryAt = 0, time.Time{}
			if p.outcome.bad >= giveUpAfter {
				s.size = s.before
			}
		case p.outcome.answered[c]:
			s.failures, s.retryAt = 0, time.Time{}
			if now.Sub(s.failedAt) >= recoverAfter {
				s.size, s.failedAt = 2*s.size, now
				if s.size > p.Options.BatchSize {
					delete(p.suspects, c)
				}
			}
		}
		s.failed = false
	}
}

// givenUp reports whether search fails altogether in this poll, which is a failure even
// if it should answer to a request that is still under way.
func (p *Poller) givenUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outcome.good > 0 || p.outcome.bad < giveUpAfter {
		return false
	}
	if p.outcome.err == nil {
		p.outcome.err = p.outcome.first
	}
	return true
}
