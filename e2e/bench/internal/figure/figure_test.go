// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100-i) * time.Millisecond // unsorted on purpose
	}
	cases := map[string]struct {
		reason string
		of     []time.Duration
		p      float64
		want   float64
	}{
		"median":  {"half of a hundred do not exceed the fiftieth", hundred, 50, 50},
		"p99":     {"one of a hundred may exceed it", hundred, 99, 99},
		"all":     {"the hundredth is the largest", hundred, 100, 100},
		"none":    {"there is nothing below the smallest", hundred, 0, 1},
		"few":     {"of few values the largest is the 99th percentile", hundred[:3], 99, 100},
		"one":     {"one value is every percentile", hundred[:1], 50, 100},
		"empty":   {"no value is no crash", nil, 99, 0},
		"partial": {"a rank between two values is the upper one", hundred[:4], 51, 99},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := NewDistribution(c.of).Percentile(c.p); got != c.want {
				t.Errorf("%s: p%v is %v, want %v", c.reason, c.p, got, c.want)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	cases := map[string]struct {
		reason string
		row    Row
		want   string
	}{
		"enough":    {"the target itself is enough", Row{Value: 0.7, Comparison: AtLeast, Target: 0.7}, "ok"},
		"short":     {"below the least is missed", Row{Value: 0.69, Comparison: AtLeast, Target: 0.7}, "missed"},
		"within":    {"the target itself is allowed", Row{Value: 0, Comparison: AtMost, Target: 0}, "ok"},
		"over":      {"above the most is missed", Row{Value: 1, Comparison: AtMost, Target: 0}, "missed"},
		"no target": {"what has no target cannot miss it", Row{Value: 1e9}, ""},
		"nothing":   {"a ratio of nothing by nothing is not a success", Row{Value: nan(), Comparison: AtMost, Target: 1}, "missed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.row.Verdict(); got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 5: "5", 0.12345: "0.123", 1.2: "1.2", 12.345: "12.3", 512.34: "512", 20000: "20000", -0.5: "-0.5"} {
		if got := Number(value); got != want {
			t.Errorf("%v: got %q, want %q", value, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	got := Table([]Row{
		{What: "speed", Value: 0.8123, Unit: "×", Comparison: AtLeast, Target: 0.7, Beside: "8 against 10"},
		{What: "writes", Value: 3, Comparison: AtMost, Target: 0},
		{What: "size", Value: 12, Unit: "MiB"},
	})
	want := strings.Join([]string{
		"| what   | value   | target  |        | beside       |",
		"| ---    | ---     | ---     | ---    | ---          |",
		"| speed  | 0.812 × | ≥ 0.7 × | ok     | 8 against 10 |",
		"| writes | 3       | ≤ 0     | missed |              |",
		"| size   | 12 MiB  |         |        |              |",
		"",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestResults_reportMissesAndRegressions(t *testing.T) {
	r := &Results{Size: "quick", Rows: []Row{{What: "good", Value: 1, Comparison: AtMost, Target: 2}, {What: "bad", Value: 3, Comparison: AtMost, Target: 2}}}
	if missed := r.Missed(); len(missed) != 1 || missed[0].What != "bad" || len(r.Rows) != 2 {
		t.Errorf("missed %v of %v", missed, r.Rows)
	}
	for unit, counts := range map[string]bool{"": true, "×": true, "s": false, "MiB": false, "%": false} {
		slow := &Results{Rows: []Row{{What: "bad", Value: 3, Unit: unit, Comparison: AtMost, Target: 2}}}
		if regressions := slow.Regressions(); (len(regressions) == 1) != counts {
			t.Errorf("a missed figure in %q: %v; only ratios and counts mean the same on every machine", unit, regressions)
		}
	}
	data, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Results
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Rows) != 2 || back.Rows[1] != r.Rows[1] {
		t.Errorf("the file says %s", data)
	}
}
