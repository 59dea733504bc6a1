// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Cluster is the state of a ManagedCluster.
type Cluster struct {
	Name string
	// Exists is false if the hub has no such ManagedCluster.
	Exists bool
	// Available is true while the cluster's agent renews its Lease.
	Available bool
	// Since is when Available last changed, or the zero time.
	Since time.Time
	// Message is the message of that change, limited to [contract.MaxMessage] bytes.
	Message string
}

// ClusterOf returns the state of a ManagedCluster. nil means that it does not exist.
func ClusterOf(name string, cluster *clusterv1.ManagedCluster) Cluster {
	if cluster == nil {
		return Cluster{Name: name}
	}
	c := Cluster{Name: name, Exists: true}
	if available := condition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); available != nil {
		c.Available = available.Status == metav1.ConditionTrue
		c.Since = available.LastTransitionTime.Time
		c.Message = contract.Message(available.Message, &contract.Rejected{})
	}
	return c
}
