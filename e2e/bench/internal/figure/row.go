// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"fmt"
	"strconv"
	"strings"
)

// Comparison is how a value must relate to its target.
type Comparison string

// Comparisons.
const (
	AtLeast Comparison = "≥"
	AtMost  Comparison = "≤"
	// Informative rows have no target.
	Informative Comparison = ""
)

// Row is one figure.
type Row struct {
	// What names the measurement.
	What string `json:"what"`
	// Value is the measured value, in Unit.
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	// Comparison and Target are the target of the value.
	Comparison Comparison `json:"comparison,omitempty"`
	Target     float64    `json:"target,omitempty"`
	// Noise is the factor by which repeated runs of the same sources differed. 0 means the unit's usual
	// noise.
	Noise float64 `json:"noise,omitempty"`
	// Beside has the baseline and the absolute values of the measurement.
	Beside string `json:"beside,omitempty"`
}

// Verdict is "ok", "missed" or, without a target, "".
func (r Row) Verdict() string {
	switch {
	case r.Comparison == Informative:
		return ""
	case r.Comparison == AtLeast && r.Value >= r.Target, r.Comparison == AtMost && r.Value <= r.Target:
		return "ok"
	}
	return "missed"
}

// Number formats a value with three significant digits, and whole numbers completely.
func Number(v float64) string {
	if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	if v >= 100 || v <= -100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func (r Row) value() string { return withUnit(r.Value, r.Unit) }

func (r Row) target() string {
	if r.Comparison == Informative {
		return ""
	}
	return fmt.Sprintf("%s %s", r.Comparison, withUnit(r.Target, r.Unit))
}

func withUnit(v float64, unit string) string { return strings.TrimSpace(Number(v) + " " + unit) }
