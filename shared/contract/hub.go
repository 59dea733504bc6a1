// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// IsHub reports whether a ManagedCluster is the hub itself: its name is [LocalClusterName], or its
// label [LocalClusterLabel] is a true boolean. Either one is sufficient, because the controllers
// have more rights on the hub than a tenant. A cluster that could be the hub is not a managed
// cluster.
func IsHub(name string, labels map[string]string) bool {
	labelled, _ := IsTrue(labels[LocalClusterLabel])
	return labelled || name == LocalClusterName
}
