// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Rendered returns the observation of an Application of rendered mode, from the status of the hub
// Application and the state of its cluster. The hub's own Argo CD reads the present ManifestWork.
// So its health counts even if it cannot compare with git. Its sync status describes the hub, and
// counts even if the cluster is unreachable. Work of the observation is the Application's own UID.
func Rendered(application types.UID, feedback contract.Feedback, cluster Cluster) Observation {
	o := Observation{
		Health:        cmp.Or(feedback.Health, argocd.HealthUnknown),
		HealthMessage: feedback.HealthMessage,
		Sync:          cmp.Or(feedback.Sync, argocd.SyncUnknown),
		Revision:      feedback.Revision,
		Revisions:     feedback.Revisions,
		Operation:     whole(feedback.Operation),
		Conditions:    feedback.Conditions,
		Reported:      feedback.Health != "" || feedback.Sync != "",
		Work:          application,
	}
	if !cluster.Available {
		// Rendered mode also marks the ManifestWork with this state, for Argo CD's health check. So
		// the message must not repeat a health that the mark will change.
		o.Reason, o.Message = ClusterUnreachable, unreachableCause(cluster)
		o.unknown("last known health:")
	}
	return o
}
