// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// slimCluster has the fields of a ManagedCluster that programs read. A cluster may write the others,
// and may write values that Go's type cannot hold.
type slimCluster struct {
	Metadata Meta `json:"metadata"`
	Spec     struct {
		HubAcceptsClient     bool  `json:"hubAcceptsClient"`
		LeaseDurationSeconds int32 `json:"leaseDurationSeconds"`
	} `json:"spec"`
	Status struct {
		Conditions    []metav1.Condition              `json:"conditions"`
		ClusterClaims []clusterv1.ManagedClusterClaim `json:"clusterClaims"`
	} `json:"status"`
}

func (c *slimCluster) cluster() *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{
		ObjectMeta: c.Metadata.ObjectMeta,
		Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: c.Spec.HubAcceptsClient, LeaseDurationSeconds: c.Spec.LeaseDurationSeconds},
		Status:     clusterv1.ManagedClusterStatus{Conditions: c.Status.Conditions, ClusterClaims: c.Status.ClusterClaims},
	}
}

// ManagedClusters returns the source of all ManagedClusters. They have metadata, acceptance, lease
// duration, conditions and claims.
func ManagedClusters(config *rest.Config) (Source, error) {
	return NewSource(config, schema.GroupVersionResource{Group: clusterv1.GroupName, Version: "v1", Resource: "managedclusters"}, (*slimCluster).cluster)
}

// Whole is the conversion of [NewSource] for a kind that is decoded as its own Go type.
func Whole[T any](object *T) *T { return object }
