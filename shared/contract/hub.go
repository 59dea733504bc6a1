// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// IsHub reports whether a ManagedCluster is the hub itself: it is called
// [LocalClusterName], or its label [LocalClusterLabel] is a true boolean. Either is
// enough, since the controllers' rights on the hub reach further than a tenant's:
// what might be the hub is no managed cluster.
func IsHub(name string, labels map[string]string) bool {
	labelled, _ := IsTrue(labels[LocalClusterLabel])
	return labelled || name == LocalClusterName
}
