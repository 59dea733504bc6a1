// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
)

// presence has the hub's objects for the agent of one cluster. They belong to caches.
type presence struct {
	addOn *addonv1alpha1.ManagedClusterAddOn
	// work delivers the agent. leaving checks whether the agent's key is deleted.
	work, leaving *workv1.ManifestWork
	// owner is its GitOpsCluster, and namespace the namespace of its Argo CD.
	owner     types.NamespacedName
	namespace string
	// cluster is nil if the ManagedCluster does not exist.
	cluster   *clusterv1.ManagedCluster
	available bool
}

// ended reports whether only objects in deletion are left of a cluster that is released without proof.
// Their finalizers belong to agents that do not run any more.
func (p presence) ended(name string, abandon bool) bool {
	return fleet.Lost(name, p.cluster, abandon) && (p.addOn == nil || !p.addOn.DeletionTimestamp.IsZero()) &&
		(p.work == nil || !p.work.DeletionTimestamp.IsZero()) && (p.leaving == nil || !p.leaving.DeletionTimestamp.IsZero())
}

func (p presence) issued() []pki.Issued {
	if p.addOn == nil {
		return nil
	}
	return pki.ParseIssued(p.addOn.Annotations[agent.IssuedAnnotation])
}

// generation returns the generation that the add-on requests, 0 for none.
func (p presence) generation() int {
	if p.addOn == nil {
		return 0
	}
	return sign.WantedGeneration(p.addOn)
}
