// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// presence is what the hub has for the agent of one cluster.
type presence struct {
	addOn     *addonv1alpha1.ManagedClusterAddOn
	owner     types.NamespacedName
	available bool
}

func (p presence) issued() []pki.Issued {
	if p.addOn == nil {
		return nil
	}
	return pki.ParseIssued(p.addOn.Annotations[agent.IssuedAnnotation])
}

// generation is the one that the add-on asks for, 0 for none.
func (p presence) generation() int {
	if p.addOn == nil {
		return 0
	}
	return sign.WantedGeneration(p.addOn)
}

func ownerOf(o client.Object) types.NamespacedName {
	owner := types.NamespacedName{}
	owner.Namespace, owner.Name, _ = contract.SplitKey(o.GetAnnotations()[agent.OwnerAnnotation])
	return owner
}
