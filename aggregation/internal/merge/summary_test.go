// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

func TestSummarize(t *testing.T) {
	state := func(cluster, health, sync string) *Row {
		return NewRow(App{Cluster: cluster, Health: health, Sync: sync}, Search{})
	}
	for name, test := range map[string]struct {
		why  string
		rows []*Row
		want v1alpha1.ReportSummary
	}{
		"none": {
			why:  "counts are strings, also when there is nothing to count",
			want: v1alpha1.ReportSummary{Clusters: "0", Synced: "0", NotSynced: "0", Healthy: "0", NotHealthy: "0", InProgress: "0"},
		},
		"progressing is not healthy": {
			why:  "inProgress counts Progressing, which counts as notHealthy too",
			rows: []*Row{state("a", "Progressing", "Synced"), state("b", "Healthy", "Synced"), state("c", "Unknown", "Unknown")},
			want: v1alpha1.ReportSummary{Clusters: "3", Synced: "2", NotSynced: "1", Healthy: "1", NotHealthy: "2", InProgress: "1"},
		},
		"two Applications on one cluster": {
			why:  "clusters counts distinct clusters, the rest counts Applications",
			rows: []*Row{state("a", "Healthy", "Synced"), state("a", "Degraded", "OutOfSync"), state("b", "Healthy", "Synced")},
			want: v1alpha1.ReportSummary{Clusters: "2", Synced: "2", NotSynced: "1", Healthy: "2", NotHealthy: "1", InProgress: "0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Summarize(test.rows)); diff != "" {
				t.Errorf("%s:\n%s", test.why, diff)
			}
		})
	}
}
