// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"slices"
)

// scale places values between two pixels.
type scale struct {
	log      bool
	from, to float64 // values
	begin    float64 // pixels
	end      float64
	ticks    []float64
}

// newScale fits an axis around values: from zero when it is linear, from power to
// power of ten when it is logarithmic.
func newScale(axis Axis, begin, end float64, values []float64) scale {
	s := scale{log: axis.Log, begin: begin, end: end, to: axis.Max}
	if len(values) > 0 {
		s.to = max(s.to, slices.Max(values))
	}
	if axis.Log {
		s.from = s.to
		for _, v := range values {
			if v > 0 {
				s.from = min(s.from, v)
			}
		}
		s.from, s.to = powerBelow(s.from), powerAbove(s.to)
		for tick := s.from; tick <= s.to*1.0001; tick *= 10 {
			s.ticks = append(s.ticks, tick)
		}
		return s
	}
	if s.to <= 0 {
		s.to = 1
	}
	step := step(s.to)
	s.to = math.Ceil(s.to/step-1e-9) * step
	for i := 0; float64(i)*step <= s.to*1.0001; i++ {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

// place returns the pixel of a value; one outside lands on the edge.
func (s scale) place(v float64) float64 {
	part := (v - s.from) / (s.to - s.from)
	if s.log {
		part = (math.Log10(max(v, s.from)) - math.Log10(s.from)) / (math.Log10(s.to) - math.Log10(s.from))
	}
	return s.begin + min(max(part, 0), 1)*(s.end-s.begin)
}

// step returns a round distance that makes four to ten ticks.
func step(to float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(to)))
	switch n := to / power; {
	case n <= 2:
		return power / 4
	case n <= 5:
		return power / 2
	}
	return power
}

func powerBelow(v float64) float64 {
	if v <= 0 {
		return 1
	}
	return math.Pow(10, math.Floor(math.Log10(v)))
}

func powerAbove(v float64) float64 {
	if v <= 0 {
		return 10
	}
	above := math.Pow(10, math.Ceil(math.Log10(v)))
	if above == powerBelow(v) {
		return above * 10
	}
	return above
}
