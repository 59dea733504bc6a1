// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// atRest is the duration of BenchmarkAtRest, unless AT_REST sets another.
const atRest = 10 * time.Minute

// counts returns the number of requests by verb and resource.
func (r *recorder) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.asked)
}

// changes counts all requests but get, list and watch. It includes Events and failed requests.
func changes(counts map[string]int) (n int) {
	for asked, times := range counts {
		if verb, _, _ := strings.Cut(asked, " "); !slices.Contains([]string{"get", "list", "watch"}, verb) {
			n += times
		}
	}
	return n
}

// settled waits until no write has happened for a while.
func (r *recorder) settled(t testing.TB) {
	t.Helper()
	last, since := -1, time.Now()
	testkit.Eventually(t, "the last write", func() error {
		if n := changes(r.counts()); n != last {
			last, since = n, time.Now()
		}
		if lasted := time.Since(since); lasted < 5*debounce {
			return fmt.Errorf("%d writes, the last one %s ago", last, lasted)
		}
		return nil
	})
}

// BenchmarkAtRest counts the requests to the API server while nothing changes for 20 clusters with agents.
// It reports the writes, and all requests without watches. The intervals between checks are the same as in
// a real run.
func BenchmarkAtRest(b *testing.B) {
	const n = 20
	lasts := atRest
	if text := os.Getenv("AT_REST"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		f := newFleet(b)
		f.withPrincipal()
		f.options.Recheck = 0
		clusters := f.clusters(n)
		for _, cluster := range clusters {
			f.available(cluster)
		}
		f.placement("all", clusters...)
		record, stop := f.start()
		f.gitops("fleet", "all", withAgent)
		f.allServed(n)
		record.settled(b)

		before := record.counts()
		<-time.After(lasts)
		during := record.counts()
		stop()
		writes, requests := changes(during)-changes(before), 0
		for asked, times := range during {
			if times -= before[asked]; times > 0 && !strings.HasPrefix(asked, "watch ") {
				requests += times
				b.Logf("%d times %s", times, asked)
			}
		}
		b.ReportMetric(float64(writes), "writes")
		b.ReportMetric(float64(requests), "requests")
		if writes > 0 {
			b.Errorf("it wrote at rest: see above")
		}
	}
}
