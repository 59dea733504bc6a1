// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
)

// The plots of the committed results name every line that was measured, and are the same
// bytes each time, so that a rerun changes the pictures by its figures only.
func TestPlots(t *testing.T) {
	data, err := os.ReadFile("results/standard.json")
	if err != nil {
		t.Fatal(err)
	}
	r := &figure.Results{}
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	r.Distributions = map[string]figure.Distribution{}
	for name, q := range r.Latencies {
		r.Distributions[name] = figure.Distribution{0, q.P50, q.P90, q.P99, q.Max}
	}
	cases := map[string]struct {
		plot  func(*figure.Results) ([]byte, error)
		texts []string
	}{
		"latency": {plotLatency, []string{"milliseconds", "% of changes"}},
		"costs":   {plotCosts, []string{"propagation", "aggregation", "resourcesync", "MiB"}},
	}
	for name := range r.Distributions {
		latency := cases["latency"]
		latency.texts = append(latency.texts, name)
		cases["latency"] = latency
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			first, err := c.plot(r)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := c.plot(r); err != nil || !bytes.Equal(first, again) {
				t.Errorf("two plots of the same results differ (%v)", err)
			}
			written := text(t, first)
			for _, want := range c.texts {
				if !strings.Contains(written, want) {
					t.Errorf("%q is not written in the plot", want)
				}
			}
			for _, odd := range []string{"NaN", "Inf"} {
				if strings.Contains(string(first), odd) {
					t.Errorf("the plot holds %s", odd)
				}
			}
		})
	}
	for name, c := range cases {
		if empty, err := c.plot(&figure.Results{}); err != nil || len(empty) == 0 {
			t.Errorf("%s of a run that measured none: %v", name, err)
		}
	}
}

// text returns what an SVG writes, and fails when it is not well-formed.
func text(t *testing.T, svg []byte) string {
	t.Helper()
	var b strings.Builder
	for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if words, is := token.(xml.CharData); is {
			b.Write(words)
			b.WriteByte('\n')
		}
	}
}
