// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestDrawIsWellFormedAndStable(t *testing.T) {
	panels := []Panel{
		{Title: "a < b & c", X: Axis{Label: "ms", Log: true}, Y: Axis{Label: "%", Max: 100}, Lines: []Line{
			{Name: "one", Points: []Point{{0.3, 1}, {20, 50}, {900, 100}}},
			{Name: "two", Points: []Point{{5, 10}}, Marks: true},
		}},
		{Title: "empty"},
	}
	first := Draw(panels...)
	if !bytes.Equal(first, Draw(panels...)) {
		t.Error("two drawings of the same differ")
	}
	decoder := xml.NewDecoder(bytes.NewReader(first))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, first)
		}
	}
	for text, n := range map[string]int{"<polyline": 2, "<circle": 1, "a &lt; b &amp; c": 1, "NaN": 0, "Inf": 0} {
		if got := strings.Count(string(first), text); got != n {
			t.Errorf("%q is there %d times, want %d", text, got, n)
		}
	}
}

func TestScale(t *testing.T) {
	cases := map[string]struct {
		reason string
		axis   Axis
		values []float64
		value  float64
		want   float64 // of 0 to 100 pixels
		ticks  []float64
	}{
		"linear":   {"a linear axis starts at zero", Axis{}, []float64{4}, 2, 50, []float64{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4}},
		"rounded":  {"it ends at a tick", Axis{}, []float64{72}, 40, 50, []float64{0, 10, 20, 30, 40, 50, 60, 70, 80}},
		"given":    {"or where it is told to", Axis{Max: 100}, []float64{72}, 50, 50, []float64{0, 25, 50, 75, 100}},
		"log":      {"a logarithmic axis has powers of ten", Axis{Log: true}, []float64{2, 800}, 10, 100.0 / 3, []float64{1, 10, 100, 1000}},
		"log zero": {"zero is at its edge, not at minus infinity", Axis{Log: true}, []float64{10}, 0, 0, []float64{10, 100}},
		"outside":  {"what is outside lands on the edge", Axis{}, []float64{4}, 9, 100, []float64{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4}},
		"nothing":  {"nothing to show is still an axis", Axis{}, nil, 1, 100, []float64{0, 0.25, 0.5, 0.75, 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScale(c.axis, 0, 100, c.values)
			if got := s.place(c.value); got < c.want-0.01 || got > c.want+0.01 {
				t.Errorf("%s: %v is at %v, want %v", c.reason, c.value, got, c.want)
			}
			if len(s.ticks) != len(c.ticks) {
				t.Fatalf("%s: ticks %v, want %v", c.reason, s.ticks, c.ticks)
			}
			for i := range s.ticks {
				if d := s.ticks[i] - c.ticks[i]; d > 1e-6 || d < -1e-6 {
					t.Errorf("%s: ticks %v, want %v", c.reason, s.ticks, c.ticks)
				}
			}
		})
	}
}
