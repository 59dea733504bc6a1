// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// Size is how much a run simulates and how long it measures.
type Size struct {
	Name string
	// Clusters with one Application each of every set.
	Clusters, Sets int
	// Stages are the shares of the clusters that exist when costs are measured. The last one is 1.
	// Cold delivery and the burst belong to the last step.
	Stages []float64
	// Storm is the highest number of first statuses in one burst.
	Storm int
	// Burst is how many changes of one report come at once.
	Burst int
	// Changes is how many changes latencies are measured over, 5 each second.
	Changes int
	// Lone is how many changes of reports that were quiet are timed, WideLone how many of
	// the one wide report.
	Lone, WideLone int
	// Trickle is the number of changes for measuring the cost of a steady load.
	Trickle int
	// CostChanges is the number of changes for measuring costs.
	CostChanges int
	// Idle is how long the idle fleet is watched.
	Idle time.Duration
	// SearchClusters is the highest number of clusters in search. Each Application has 10
	// resources.
	SearchClusters int
	// WideReport is the number of clusters of the one wide report.
	WideReport int
	// Restart is how many times as long as a bare LIST a warm restart may take.
	Restart float64
	// PerApplication is how many KB (1,000 bytes) of memory a binary may use for each Application.
	// nil: the target is for all of its memory.
	PerApplication map[string]float64
	// APIServer is the environment of the hub's API server beyond what every process has.
	APIServer []string
	// Without are the keys of phases that are left out unless they are asked for.
	Without []string
}

// Sizes returns the available sizes.
func Sizes() []Size {
	return []Size{
		{
			Name: "quick", Clusters: 50, Sets: 4, Stages: []float64{0.1, 0.4, 1}, Storm: 5000, Burst: 50, Changes: 50, Lone: 8, WideLone: 2, Trickle: 100, CostChanges: 200,
			Idle: 21 * time.Second, SearchClusters: 500, WideReport: 200, Restart: warmRestart,
		},
		{
			Name: "standard", Clusters: 500, Sets: 10, Stages: []float64{0.1, 0.4, 1}, Storm: 5000, Burst: 500, Changes: 300, Lone: 60, WideLone: 5, Trickle: 400, CostChanges: 1000,
			Idle: time.Minute, SearchClusters: 500, WideReport: 2000, Restart: warmRestart,
		},
		{
			Name: "large", Clusters: 2000, Sets: 10, Stages: []float64{0.1, 0.4, 1}, Storm: 5000, Burst: 500, Changes: 300, Lone: 60, WideLone: 5, Trickle: 400, CostChanges: 1000,
			Idle: time.Minute, SearchClusters: 500, WideReport: 10000, Restart: warmRestart,
		},
		xlarge(),
	}
}

// warmRestart is what a warm restart may take at most, against a bare LIST, where reading the
// fleet is not all that it does.
const warmRestart = 3

// xlarge is 50,000 Applications, on a machine with two cores and 24 GiB in some 45 minutes.
// Half of that is until all are there with a status, at a hundred first statuses a second.
func xlarge() Size {
	return Size{
		Name: "xlarge", Clusters: 2500, Sets: 20,
		// 2,000 Applications as the base of costs, 20,000 as in large, and all of them.
		Stages: []float64{0.04, 0.4, 1},
		Storm:  5000, Burst: 500, Changes: 300, Lone: 60, WideLone: 5,
		Trickle: 300, CostChanges: 1000, Idle: time.Minute,
		// as many resources as in smaller sizes, because the cost of a poll depends on search and
		// not on the hub
		SearchClusters: 250, WideReport: 10000,
		Restart:        2,
		PerApplication: map[string]float64{env.Propagation: 6, env.Aggregation: 3},
		// At 20,000 Applications the API server had 8.5 GiB, and grew by 0.4 MiB with each of them.
		// Go lets the heap grow to twice what is in use. With half as much garbage, 50,000 need
		// about 15 GiB. At that limit Go collects more often and does not grow. etcd, the product
		// with its standbys and the benchmark itself need about 5 GiB more.
		APIServer: []string{"GOGC=50", "GOMEMLIMIT=15GiB"},
		// Ten thousand more clusters and ManifestWorks would not fit in addition to the fleet. The
		// cost of one report does not depend on the others, and large has the widest possible one.
		Without: []string{"wide"},
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

// At returns the number of clusters in a stage.
func (s Size) At(stage int) int { return max(1, int(s.Stages[stage]*float64(s.Clusters))) }
