// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Sets returns the ApplicationSets that something is known about, in no order.
func (x *Index) Sets() []types.NamespacedName {
	x.mu.Lock()
	defer x.mu.Unlock()
	keys := make([]types.NamespacedName, 0, len(x.sets))
	for key := range x.sets {
		keys = append(keys, key)
	}
	return slices.Clip(keys)
}

// Cluster returns what is known about a ManagedCluster.
func (x *Index) Cluster(name string) status.Cluster {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.clusters[name]; c != nil {
		return c.state
	}
	return status.Cluster{Name: name}
}
