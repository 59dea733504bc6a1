// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"slices"
	"time"
)

const (
	// Patience bounds a wait that ought to end: the longest is for 30,000 ManifestWorks.
	Patience = 10 * time.Minute
	// Silence is how long the product writes nothing before a fleet is idle. Once nothing
	// changes any more, no report is held back for as long.
	Silence = 4 * time.Second
)

// Throughput is how much was done in how long.
type Throughput struct {
	Done int
	Took time.Duration
}

// Add adds what was done in a time.
func (p *Throughput) Add(done int, took time.Duration) {
	p.Done += done
	p.Took += took
}

// PerSecond returns the rate, 0 when nothing was done.
func (p Throughput) PerSecond() float64 {
	if p.Took <= 0 {
		return 0
	}
	return float64(p.Done) / p.Took.Seconds()
}

// Median returns the middle one of a few durations.
func Median(durations []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(durations))[len(durations)/2]
}

// Mebibytes returns bytes in MiB.
func Mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Round rounds a duration to what a reader compares.
func Round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}
