// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// Size is the size of the simulated fleet and the duration of the measurements.
type Size struct {
	Name string
	// Clusters is the number of clusters, each with one Application of every one of the Sets ApplicationSets.
	Clusters, Sets int
	// Stages are the shares of the clusters that exist when costs are measured. The last one is 1. Cold
	// delivery and the burst of first statuses belong to the last stage.
	Stages []float64
	// Storm is the highest number of first statuses in one burst.
	Storm int
	// Burst is the number of simultaneous changes of one report.
	Burst int
	// Changes is the number of changes for measuring latencies, at 5 a second.
	Changes int
	// Lone is the number of measured changes of reports that were idle. WideLone is the number for the one
	// wide report.
	Lone, WideLone int
	// Trickle is the number of changes for measuring the cost of a steady load.
	Trickle int
	// CostChanges is the number of changes for measuring costs.
	CostChanges int
	// Idle is how long the idle fleet is observed.
	Idle time.Duration
	// SearchClusters is the highest number of clusters in search. Each Application has 10
	// resources.
	SearchClusters int
	// WideReport is the number of clusters of the one wide report.
	WideReport int
	// Restart is the longest warm restart, as a multiple of a bare LIST.
	Restart float64
	// PerApplication is how many KB (1,000 bytes) of memory a binary may use for each Application. If it is
	// nil, the target is for the whole memory.
	PerApplication map[string]float64
	// APIServer are additional environment variables of the hub's API server.
	APIServer []string
	// Without are the keys of phases that run only if they are requested.
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

// warmRestart is the longest warm restart, as a multiple of a bare LIST, where a restart does more than
// reading the fleet.
const warmRestart = 3

// xlarge has 50,000 Applications and takes about 45 minutes on a machine with two cores and 24 GiB. Half of
// that time passes until all have a status, at a hundred first statuses a second.
func xlarge() Size {
	return Size{
		Name: "xlarge", Clusters: 2500, Sets: 20,
		// 2,000 Applications as the base of costs, 20,000 as in large, and all 50,000.
		Stages: []float64{0.04, 0.4, 1},
		Storm:  5000, Burst: 500, Changes: 300, Lone: 60, WideLone: 5,
		Trickle: 300, CostChanges: 1000, Idle: time.Minute,
		// As many resources as in smaller sizes, because the cost of a poll depends on search and not on the
		// hub.
		SearchClusters: 250, WideReport: 10000,
		Restart:        2,
		PerApplication: map[string]float64{env.Propagation: 6, env.Aggregation: 3},
		// With 20,000 Applications the API server used 8.5 GiB, and 0.4 MiB more for each further one. Go
		// lets the heap grow to twice the memory in use. With half as much garbage, 50,000 need about 15 GiB.
		// At that limit Go collects more often and does not grow. etcd, the product with its standbys and the
		// benchmark itself need about 5 GiB more.
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
