// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Rendered returns what is known about an Application of rendered mode, from what
// the hub's own Argo CD says in its status and the state of its cluster. That Argo CD
// looks at the ManifestWork as it is now, so its health counts even when it cannot
// compare it with git, and its sync status even when the cluster is away: it is about
// the hub. Work of the observation is the Application's own UID.
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
		// Rendered mode marks the ManifestWork with the same news, for Argo CD's health
		// check; so the message must not repeat a health that the mark is about to change.
		o.Reason, o.Message = ClusterUnreachable, away(cluster)
		o.unknown("last known health:")
	}
	return o
}
