// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"k8s.io/apimachinery/pkg/types"
)

// Wanted is the Argo CD of one managed cluster.
type Wanted struct {
	// Owner is the GitOpsCluster.
	Owner types.NamespacedName
	// Cluster is the ManagedCluster, Namespace that of Argo CD on it.
	Cluster, Namespace string
	// Install is [InstallManifests] or [InstallOperator].
	Install string
	// Image and RedisImage replace those of the manifests; empty: as they are.
	Image, RedisImage string
	// Registries is the ManagedCluster's annotation about mirrors of images.
	Registries string
	// ClusterRole is what Argo CD may do on the cluster; empty: everything, as in its own
	// manifests.
	ClusterRole string
	// TakeOver replaces an Argo CD that the cluster has already.
	TakeOver bool
}
