// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package figure contains the results of a benchmark: distributions, rows with their targets, the table and
// the file. It is pure.
package figure

import (
	"math"
	"slices"
	"time"
)

// Distribution is a sorted list of times in milliseconds.
type Distribution []float64

// NewDistribution returns the distribution of durations.
func NewDistribution(durations []time.Duration) Distribution {
	d := make(Distribution, len(durations))
	for i, each := range durations {
		d[i] = float64(each) / float64(time.Millisecond)
	}
	slices.Sort(d)
	return d
}

// Percentile returns the smallest value that at least p percent of the values do not exceed
// (nearest rank). It is always a measured value. It is 0 for an empty distribution.
func (d Distribution) Percentile(p float64) float64 {
	if len(d) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(d))))
	return d[min(max(rank, 1), len(d))-1]
}
