// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import "open-cluster-management.io/multicluster-integrations/e2e/search/table"

// localCluster is the name that the hub goes by.
const localCluster = "local-cluster"

// clusterRow returns the node that stands for a cluster.
func clusterRow(name string) table.Row {
	return table.Row{UID: table.ClusterUID(name), Cluster: name, Data: map[string]any{
		"name":        name,
		"kind":        "Cluster",
		"kind_plural": "managedclusterinfos",
		"apigroup":    "internal.open-cluster-management.io",
		// The nodes of managed clusters have the hub's mark too.
		"_hubClusterResource": "true",
		"addon":               map[string]any{"search-collector": "true"},
	}}
}
