// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// localCluster is the name that the hub goes by.
const localCluster = "local-cluster"

// managedClusterRow returns the node that stands for a managed cluster. The real
// one is made of a ManagedClusterInfo, which plain Open Cluster Management does
// not have; a ManagedCluster holds the same facts.
func managedClusterRow(object *unstructured.Unstructured) table.Row {
	data := nodeData(object.GetName())
	data["created"] = stamp(object.GetCreationTimestamp())
	if labels := object.GetLabels(); len(labels) > 0 {
		data["label"] = stringMap(labels)
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		kind, _ := fields["type"].(string)
		status, _ := fields["status"].(string)
		switch kind {
		case "HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable":
			data[kind] = status
		}
	}
	for property, path := range map[string][]string{
		"cpu":               {"status", "capacity", "cpu"},
		"memory":            {"status", "capacity", "memory"},
		"kubernetesVersion": {"status", "version", "kubernetes"},
	} {
		if value, _, _ := unstructured.NestedString(object.Object, path...); value != "" {
			data[property] = value
		}
	}
	return node(object.GetName(), data)
}

// nameOnlyRow returns the node of a cluster of which nothing but the name is
// known.
func nameOnlyRow(name string) table.Row {
	data := nodeData(name)
	for _, condition := range []string{
		"HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable",
	} {
		data[condition] = "True"
	}
	return node(name, data)
}

func nodeData(name string) map[string]any {
	return map[string]any{
		"name":        name,
		"kind":        "Cluster",
		"kind_plural": "managedclusterinfos",
		"apigroup":    "internal.open-cluster-management.io",
		// The nodes of managed clusters have the hub's mark too.
		"_hubClusterResource": "true",
		"addon":               map[string]any{"search-collector": "true"},
	}
}

func node(name string, data map[string]any) table.Row {
	return table.Row{UID: table.ClusterUID(name), Cluster: name, Data: data}
}
