// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// ManagedClusters returns the source of all ManagedClusters. Each cluster writes its own.
func ManagedClusters(config *rest.Config) (Source, error) {
	return NewSource(config, schema.GroupVersionResource{Group: clusterv1.GroupName, Version: "v1", Resource: "managedclusters"}, Whole[clusterv1.ManagedCluster])
}

// Whole is the conversion of [NewSource] for a kind that is decoded as its own Go type.
func Whole[T any](object *T) *T { return object }
