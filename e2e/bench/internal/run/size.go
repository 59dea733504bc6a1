// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"time"
)

// Size is how much a run simulates and how long it looks.
type Size struct {
	Name string
	// Clusters with one Application each of every set.
	Clusters, Sets int
	// Stages are the parts of the clusters that are there when costs are measured;
	// the last one is 1. Cold delivery and storm happen in the last step.
	Stages []float64
	// Storm is the most first statuses that come at once.
	Storm int
	// Burst is how many changes of one report come at once.
	Burst int
	// Changes is how many changes latencies are measured over, 5 each second.
	Changes int
	// Lone is how many changes of reports that were quiet are timed, WideLone how many of
	// the one wide report.
	Lone, WideLone int
	// Trickle is how many changes the cost of a trickle is measured over.
	Trickle int
	// CostChanges is how many changes costs are measured over.
	CostChanges int
	// Idle is how long the idle fleet is watched.
	Idle time.Duration
	// SearchClusters is the most clusters that search knows; each Application has 10 resources.
	SearchClusters int
	// WideReport is the number of clusters of the one wide report.
	WideReport int
}

// Sizes are the ones that can be asked for.
func Sizes() []Size {
	return []Size{
		{
			Name: "quick", Clusters: 50, Sets: 4, Stages: []float64{0.1, 0.4, 1}, Storm: 5000, Burst: 50, Changes: 50, Lone: 8, WideLone: 2, Trickle: 100, CostChanges: 200,
			Idle: 21 * time.Second, SearchClusters: 500, WideReport: 200,
		},
		{
			Name: "standard", Clusters: 500, Sets: 10, Stages: []float64{0.1, 0.4, 1}, Storm: 5000, Burst: 500, Changes: 300, Lone: 60, WideLone: 5, Trickle: 400, CostChanges: 1000,
			Idle: time.Minute, SearchClusters: 500, WideReport: 2000,
		},
		{
			Name: "large", Clusters: 2000, Sets: 10, Stages: []float64{0.1, 0.4, 1}, Storm: 5000, Burst: 500, Changes: 300, Lone: 60, WideLone: 5, Trickle: 400, CostChanges: 1000,
			Idle: time.Minute, SearchClusters: 500, WideReport: 10000,
		},
	}
}

// FindSize returns a size by its name, or an error that lists the names.
func FindSize(name string) (Size, error) {
	var names []string
	for _, s := range Sizes() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Size{}, fmt.Errorf("no size is called %q; there are %q", name, names)
}

// With returns the size with other numbers of clusters and sets; 0 keeps its own.
func (s Size) With(clusters, sets int) Size {
	if clusters > 0 && clusters != s.Clusters || sets > 0 && sets != s.Sets {
		s.Name += "-reduced"
	}
	if clusters > 0 {
		s.Clusters = clusters
	}
	if sets > 0 {
		s.Sets = sets
	}
	return s
}

// at returns how many clusters there are in a stage.
func (s Size) at(stage int) int { return max(1, int(s.Stages[stage]*float64(s.Clusters))) }
