// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"maps"
	"slices"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
)

// The size xlarge has 50,000 Applications, is compared with 2,000, and has separate targets.
func TestXlarge_hasSeparateTargets(t *testing.T) {
	s, err := rig.FindSize("xlarge")
	if err != nil {
		t.Fatal(err)
	}
	if first, all := s.At(0)*s.Sets, s.Clusters*s.Sets; first != 2_000 || all != 50_000 {
		t.Errorf("costs of %d Applications are compared with those of %d", all, first)
	}
	if want := map[string]float64{env.Propagation: 6, env.Aggregation: 3}; !maps.Equal(s.PerApplication, want) || s.Restart != 2 {
		t.Errorf("memory per Application %v, restart %v", s.PerApplication, s.Restart)
	}
	if len(s.APIServer) == 0 {
		t.Error("the API server collects garbage as by Go's defaults: 50,000 Applications do not fit")
	}
}

// Memory per Application is the memory at the largest stage beyond the program without Applications.
func TestRelateMemory_subtractsTheEmptyProgram(t *testing.T) {
	size := rig.Size{PerApplication: map[string]float64{env.Propagation: 6, env.Aggregation: 3}}
	b := &rig.Rig{
		Options: rig.Options{Size: size, Progress: func(string) {}},
		Results: &figure.Results{Costs: []figure.Cost{
			{Applications: 2_000, Memory: map[string]float64{env.Propagation: 55, env.Aggregation: 45}},
			{Applications: 10_000, Memory: map[string]float64{env.Propagation: 90, env.Aggregation: 80}},
		}},
		Empty: map[string]process.Usage{env.Propagation: {Resident: 40 << 20}, env.Aggregation: {Resident: 40 << 20}},
	}
	relateMemory(b)
	if len(b.Results.Rows) != 2 {
		t.Fatalf("rows: %+v", b.Results.Rows)
	}
	// 50 MiB for 10,000 are 5.24 KB, 40 MiB are 4.19 KB
	for i, want := range []struct{ least, most, target float64 }{{5.23, 5.25, 6}, {4.18, 4.2, 3}} {
		if r := b.Results.Rows[i]; r.Value < want.least || r.Value > want.most || r.Target != want.target || r.Comparison != figure.AtMost {
			t.Errorf("%+v", r)
		}
	}
	b.Size.PerApplication, b.Results.Rows = nil, nil
	if relateMemory(b); len(b.Results.Rows) > 0 {
		t.Errorf("a size with too few Applications to tell has %+v", b.Results.Rows)
	}
}

// A steady load changes at most ten reports, so the rate of each report is the same for more ApplicationSets.
func TestSteadyLoad_changesAtMostTenReports(t *testing.T) {
	for sets, want := range map[int]int{4: 4, 10: 10, 20: 10} {
		b := &rig.Load{Size: rig.Size{Sets: sets}}
		for s := range sets {
			b.Apps = append(b.Apps, &rig.Application{Set: memory.SetName(s), Cluster: "a"}, &rig.Application{Set: memory.SetName(s), Cluster: "b"})
		}
		apps, reports := b.Trickled()
		names := map[string]bool{}
		for _, a := range apps {
			names[simulate.ApplicationName(a.Set, a.Cluster)] = true
		}
		if reports != want || len(names) != 2*want || len(apps) != 2*want {
			t.Errorf("of %d reports %d change, and %q", sets, reports, slices.Sorted(maps.Keys(names)))
		}
	}
}
