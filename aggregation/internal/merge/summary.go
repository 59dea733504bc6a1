// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"strconv"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Summarize counts over rows that are sorted by [Compare].
func Summarize(rows []*Row) v1alpha1.ReportSummary {
	var clusters, synced, healthy, inProgress int
	for i, r := range rows {
		if i == 0 || rows[i-1].Cluster != r.Cluster {
			clusters++
		}
		if r.SyncStatus == argocd.SyncSynced {
			synced++
		}
		switch r.HealthStatus {
		case argocd.HealthHealthy:
			healthy++
		case argocd.HealthProgressing:
			inProgress++
		}
	}
	return v1alpha1.ReportSummary{
		Clusters:   strconv.Itoa(clusters),
		Synced:     strconv.Itoa(synced),
		NotSynced:  strconv.Itoa(len(rows) - synced),
		Healthy:    strconv.Itoa(healthy),
		NotHealthy: strconv.Itoa(len(rows) - healthy),
		InProgress: strconv.Itoa(inProgress),
	}
}
