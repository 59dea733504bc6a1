// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// NeverSeen reports whether a managed cluster cannot have received anything that was written to the
// hub after made. It has never been available, or it was silent by then. The hub marks a cluster as
// unknown after its agent has not renewed the lease for five times the lease's duration (OCM's
// pkg/registration/hub/lease). So one duration later it was certainly silent.
//
// Any other cluster counts as a receiver, although it may not have reported yet. An operation that
// runs late is better than an operation that runs twice.
func NeverSeen(cluster *clusterv1.ManagedCluster, made time.Time) bool {
	if cluster == nil {
		return false
	}
	c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	if c == nil {
		return true
	}
	if c.Status != metav1.ConditionUnknown {
		return false
	}
	lease := time.Duration(cluster.Spec.LeaseDurationSeconds) * time.Second
	if lease <= 0 {
		lease = time.Minute // OCM's default
	}
	return !made.Before(c.LastTransitionTime.Add(-4 * lease))
}

// Silent reports whether the silence of a cluster may make [NeverSeen] true.
func Silent(cluster *clusterv1.ManagedCluster) bool {
	c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	return c == nil || c.Status == metav1.ConditionUnknown
}
