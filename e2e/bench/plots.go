// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/chart"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
)

// plotLatency draws what part of the changes was seen within which time.
func plotLatency(r *figure.Results) []byte {
	panel := chart.Panel{
		Title: "From a work agent's patch until it is seen",
		X:     chart.Axis{Label: "milliseconds", Log: true},
		Y:     chart.Axis{Label: "% of changes", Max: 100},
	}
	for _, name := range slices.Sorted(maps.Keys(r.Distributions)) {
		line := chart.Line{Name: name}
		d := r.Distributions[name]
		for p := 1; p <= 100; p++ {
			line.Points = append(line.Points, chart.Point{X: max(d.Percentile(float64(p)), 0.1), Y: float64(p)})
		}
		panel.Lines = append(panel.Lines, line)
	}
	return chart.Draw(panel)
}

// plotCosts draws processor time per change and memory against the fleet's size.
func plotCosts(r *figure.Results) []byte {
	x := chart.Axis{Label: "Applications"}
	cpu := chart.Panel{Title: "Processor time per status change", X: x, Y: chart.Axis{Label: "milliseconds"}}
	memory := chart.Panel{Title: "Resident memory", X: x, Y: chart.Axis{Label: "MiB"}}
	cpu.Lines = lines(r.Costs, func(c figure.Cost) map[string]float64 { return c.CPU })
	memory.Lines = lines(r.Costs, func(c figure.Cost) map[string]float64 { return c.Memory })
	return chart.Draw(cpu, memory)
}

// lines makes a line for each of the product's binaries.
func lines(costs []figure.Cost, of func(figure.Cost) map[string]float64) []chart.Line {
	var all []chart.Line
	for _, name := range []string{"propagation", "aggregation", "resourcesync"} {
		line := chart.Line{Name: name, Marks: true}
		for _, c := range costs {
			if v, ok := of(c)[name]; ok {
				line.Points = append(line.Points, chart.Point{X: float64(c.Applications), Y: v})
			}
		}
		if len(line.Points) > 0 {
			all = append(all, line)
		}
	}
	return all
}
