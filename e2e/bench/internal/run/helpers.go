// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
)

const (
	// patience bounds a wait that ought to end: the longest is for 30,000 ManifestWorks.
	patience = 10 * time.Minute
	// silence is how long the product writes nothing before a fleet is idle. Once nothing
	// changes any more, no report is held back for as long.
	silence = 4 * time.Second
)

func decode(body []byte, out any) error {
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("decode the API server's answer: %w", err)
	}
	return nil
}

// throughput is how much was done in how long.
type throughput struct {
	done int
	took time.Duration
}

func (p *throughput) add(done int, took time.Duration) {
	p.done += done
	p.took += took
}

// perSecond returns the rate, 0 when nothing was done.
func (p throughput) perSecond() float64 {
	if p.took <= 0 {
		return 0
	}
	return float64(p.done) / p.took.Seconds()
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// paced calls work for 0 to n-1, perSecond times a second; a call that takes longer
// than that does not hold up the next. It returns the first error.
func paced(ctx context.Context, n int, perSecond float64, work func(ctx context.Context, i int) error) error {
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	results := make(chan error, n)
	started := 0
	for started < n && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			i := started
			started++
			go func() { results <- work(ctx, i) }()
		}
	}
	var first error
	for range started {
		if err := <-results; first == nil {
			first = err
		}
	}
	if first == nil {
		first = ctx.Err()
	}
	return first
}

// span returns the first and the last moment of requests.
func span(entries []audit.Entry) (first, last time.Time) {
	for i := range entries {
		if i == 0 || entries[i].Done.Before(first) {
			first = entries[i].Done
		}
		if entries[i].Done.After(last) {
			last = entries[i].Done
		}
	}
	return first, last
}

// median returns the middle one of a few durations.
func median(durations []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[len(sorted)/2]
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}

// untargeted is a row that is shown and has nothing to reach.
func untargeted(r figure.Row) figure.Row {
	r.Comparison, r.Target = figure.Informative, 0
	return r
}

func listed(kinds map[string]int) string {
	if len(kinds) == 0 {
		return ""
	}
	return fmt.Sprintf("; %v", kinds)
}
