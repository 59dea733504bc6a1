// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"slices"
	"time"
)

const (
	// Patience limits each wait. The longest one is for 30,000 ManifestWorks.
	Patience = 10 * time.Minute
	// Silence is how long the product must write nothing before the fleet counts as idle. Once nothing
	// changes any more, aggregation delays no report for so long.
	Silence = 4 * time.Second
)

// Throughput is an amount of work and its duration.
type Throughput struct {
	Done int
	Took time.Duration
}

// Add adds work and its duration.
func (p *Throughput) Add(done int, took time.Duration) {
	p.Done += done
	p.Took += took
}

// PerSecond returns the rate, or 0 without any work.
func (p Throughput) PerSecond() float64 {
	if p.Took <= 0 {
		return 0
	}
	return float64(p.Done) / p.Took.Seconds()
}

// Median returns the median of a few durations.
func Median(durations []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(durations))[len(durations)/2]
}

// Mebibytes returns bytes in MiB.
func Mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Round rounds a duration for a reader.
func Round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}
