// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"slices"
	"time"
)

const (
	// patience bounds a wait that ought to end: the longest is for 30,000 ManifestWorks.
	patience = 10 * time.Minute
	// silence is how long the product writes nothing before a fleet is idle. Once nothing
	// changes any more, no report is held back for as long.
	silence = 4 * time.Second
)

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

// median returns the middle one of a few durations.
func median(durations []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(durations))[len(durations)/2]
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}
