// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Sets returns all ApplicationSets of the index, in no order.
func (x *Index) Sets() []types.NamespacedName {
	keys := x.ownSets()
	if len(x.others) == 0 {
		return keys
	}
	for _, other := range x.others {
		keys = append(keys, other.Sets()...)
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(keys)
}

func (x *Index) ownSets() []types.NamespacedName {
	x.mu.Lock()
	defer x.mu.Unlock()
	keys := make([]types.NamespacedName, 0, len(x.sets))
	for key := range x.sets {
		keys = append(keys, key)
	}
	return keys
}

// Cluster returns the state of a ManagedCluster.
func (x *Index) Cluster(name string) status.Cluster {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.clusters[name]; c != nil {
		return c.state
	}
	return status.Cluster{Name: name}
}
