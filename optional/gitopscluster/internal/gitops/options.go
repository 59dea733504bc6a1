// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// Options are the options of [Setup].
type Options struct {
	// Namespaces are the namespaces of the hub's Argo CDs. The first one is the default.
	Namespaces []string
	// Every accepted cluster is registered in the first namespace.
	Every bool
	// InstanceLabel is the same as in register.Options.
	InstanceLabel string
	// Grace is how long a cluster must be out of its Placement before it is removed. RemovalLimit
	// is how many may be removed at a time.
	Grace        time.Duration
	RemovalLimit limit.Limit
	// Adopt works under another project's CustomResourceDefinition, too.
	Adopt bool
	// Agents are the options for argocd-agent on clusters. If it is nil, gitopscluster only
	// registers clusters.
	Agents *agents.Options
	// HubNamespace is the namespace of gitopscluster's pod. The pod gets Events.
	HubNamespace string
	// Recheck is how often the CustomResourceDefinition is checked. 0 means every 15 seconds.
	Recheck time.Duration
	// Backoff decides when a failed GitOpsCluster is tried again. If it is nil, [boot.Backoff]
	// decides.
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

func (o Options) withDefaults() Options {
	if o.Backoff == nil {
		o.Backoff = boot.Backoff()
	}
	if o.Recheck == 0 {
		o.Recheck = recheck
	}
	return o
}

func (o Options) settings(admitted intent.Admitted) intent.Settings {
	return intent.Settings{Namespaces: o.Namespaces, Agents: o.Agents != nil, Admitted: admitted}
}

func (o Options) everyIn() string {
	if o.Every {
		return o.Namespaces[0]
	}
	return ""
}

// recheck is the default of [Options.Recheck].
const recheck = 15 * time.Second

// Older compares a and b by creation, then by namespace and name.
func Older(a, b *v1beta1.GitOpsCluster) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return key(a).String() < key(b).String()
}

func key(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }
