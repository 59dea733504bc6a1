// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGroups_countByCause(t *testing.T) {
	groups := Groups([]*Set{
		setOf("a", "c1 Degraded Synced Failed SyncError: a-c1 exceeded quota by 3", "c2 Degraded Synced Failed SyncError: a-c2 exceeded quota by 41"),
		setOf("b", "c1 Degraded Synced Failed SyncError: b-c1 exceeded quota by 5", "c3 Healthy Synced Succeeded RepeatedResourceWarning: twice", "c4 Healthy Synced Succeeded RepeatedResourceWarning: twice", "c5 Healthy Synced Succeeded RepeatedResourceWarning: twice",
			"c6 Healthy Synced Succeeded RepeatedResourceWarning: twice"),
		setOf("c", "c1 Unknown Unknown  ClusterUnreachableWarning: cluster c1 is not available; last report: health Healthy", "c2 Unknown Unknown  ClusterUnreachableWarning: cluster c2 is not available; it has never reported this Application"),
	})
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%s %s: %d in %d sets on %d clusters, %d examples", g.Type(), g.Text(), g.Count, g.Sets, g.Clusters, len(g.Examples)))
	}
	want := []string{
		"SyncError … exceeded quota by …: 3 in 2 sets on 2 clusters, 3 examples",
		"ClusterUnreachableWarning cluster … is not available: 2 in 1 sets on 2 clusters, 2 examples",
		"RepeatedResourceWarning twice: 4 in 1 sets on 4 clusters, 4 examples",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, g := range groups {
		if n := len(Filter(Items(nil, ""), Query{Error: g.Hash()})); n != 0 {
			t.Errorf("%d of nothing", n)
		}
	}
}

// The filter for an error group returns as many Applications as the group counts.
func TestFilter_selectsByCause(t *testing.T) {
	sets := random(rand.New(rand.NewPCG(3, 3)), 20, 10)
	groups := Groups(sets)
	if len(groups) != 2 {
		t.Fatalf("%d groups", len(groups))
	}
	for _, g := range groups {
		if n := len(Filter(Items(sets, ""), Query{Error: g.Hash()})); n != g.Count {
			t.Errorf("%s: %d of %d", g.Text(), n, g.Count)
		}
	}
}
