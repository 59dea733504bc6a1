// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A change of content on clusters in 25 groups, without a rollout and with one: the processor time
// of propagation and rollout for each cluster in milliseconds, and what they request at rest.
func BenchmarkChange(b *testing.B) {
	for _, size := range []int{20, 100} {
		b.Run(fmt.Sprint("clusters=", 25*size), func(b *testing.B) {
			for b.Loop() {
				f := newFleet(b, slices.Repeat([]int{size}, 25)...)
				f.runs("the first delivery", func(_ int, _, v string) bool { return v == "r0" })
				without := f.costOf("p1", func() {})
				f.adopt()
				with := f.costOf("p2", func() {
					f.becomes("it to be promoted", func(s *rollout.Status) bool { return s.Phase == rollout.Idle && s.Promoted.Number > 1 })
				})
				before := f.metrics()
				end := time.Now().Add(30 * time.Second)
				f.eventually("half a minute to pass", func() error {
					if left := time.Until(end); left > 0 {
						return fmt.Errorf("%s are left", left)
					}
					return nil
				})
				after, n := f.metrics(), float64(len(f.clusters))
				watches := after[requests+" GET"] - before[requests+" GET"]
				b.ReportMetric(1000*without[0]/n, "ms-propagation-without")
				b.ReportMetric(1000*without[1]/n, "ms-rollout-without")
				b.ReportMetric(1000*with[0]/n, "ms-propagation")
				b.ReportMetric(1000*with[1]/n, "ms-rollout")
				b.ReportMetric((with[0]+with[1])/(without[0]+without[1]), "ratio")
				b.ReportMetric(after[requests]-before[requests]-watches, "writes-at-rest")
				b.ReportMetric(watches, "reads-at-rest") // a watch that begins again among them
			}
		})
	}
}

const requests, processor = "rest_client_requests_total", "process_cpu_seconds_total"

// metrics returns the sum of those of both binaries.
func (f *fleet) metrics() map[string]float64 {
	f.t.Helper()
	sums := map[string]float64{}
	for _, b := range f.binaries {
		m, err := b.Metrics()
		if err != nil {
			f.t.Fatal(err)
		}
		for name, value := range m {
			sums[name] += value
		}
	}
	return sums
}

// rest waits until the binaries have requested nothing for some seconds, and returns the processor
// time that each has used. It looks once a second: more would be all that they do.
func (f *fleet) rest() (used [2]float64) {
	f.t.Helper()
	last, since := 0.0, time.Now()
	err := testkit.WaitFor(f.ctx, 10*time.Minute, time.Second, "nothing to be requested", func(context.Context) error {
		if now := f.metrics()[requests]; now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < 5*time.Second {
			return fmt.Errorf("%v requests", last)
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for i, b := range f.binaries {
		m, err := b.Metrics()
		if err != nil {
			f.t.Fatal(err)
		}
		used[i] = m[processor]
	}
	return used
}

// costOf returns the processor time that each binary uses until a change is everywhere.
func (f *fleet) costOf(path string, ends func()) (used [2]float64) {
	f.t.Helper()
	before := f.rest()
	f.content(path)
	f.runs("the change to be everywhere", func(_ int, p, _ string) bool { return p == path })
	ends()
	used = f.rest()
	for i := range used {
		used[i] -= before[i]
	}
	return used
}

// A rollback of all started clusters beside one bare pass of writes to the same works; and
// writes for each cluster and promotion.
func BenchmarkRollback(b *testing.B) {
	const n = 500
	for b.Loop() {
		f := newFleet(b, 1, n)
		f.runs("the first delivery", func(_ int, _, v string) bool { return v == "r0" })
		f.adopt()
		f.mu.Lock()
		before := maps.Clone(f.writes)
		f.mu.Unlock()
		began := time.Now()
		f.commit("r1", "")
		f.becomes("r1 to be promoted", func(s *rollout.Status) bool {
			return s.Phase == rollout.Idle && s.Promoted.Revisions[0] == "r1"
		})
		promoted := time.Since(began)
		most := 0
		f.mu.Lock()
		for k, v := range f.writes {
			most = max(most, v-before[k])
		}
		f.mu.Unlock()
		f.commit("late", "")
		f.becomes("every cluster to have started", func(s *rollout.Status) bool { return s.Counts.Started == n+1 })
		began = time.Now()
		s := f.status()
		abort(b, f, s.Candidate.Number)
		f.becomes("it to be taken back", func(s *rollout.Status) bool { return s.Phase == rollout.RolledBack })
		back := time.Since(began)
		bare := f.bare()
		b.ReportMetric(promoted.Seconds(), "s/promotion")
		b.ReportMetric(back.Seconds(), "s/rollback")
		b.ReportMetric(bare.Seconds(), "s/bare")
		b.ReportMetric(back.Seconds()/bare.Seconds(), "ratio")
		b.ReportMetric(float64(most), "writes/cluster")
	}
}
