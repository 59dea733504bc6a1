// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Options are the settings of [Setup].
type Options struct {
	// Namespace is the namespace in which the hub's Argo CD reads cluster Secrets.
	Namespace string
	// InstanceLabel is the label key by which this Argo CD tracks resources
	// (application.instanceLabelKey in argocd-cm), in addition to its default key.
	InstanceLabel string
	// Backoff decides when a failed cluster is tried again. nil uses [boot.Backoff].
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

// Caches returns the settings of the manager's cache for Secrets. The cache keeps only the compared
// fields. For [Setup] it has the Secrets with our label in the first namespace. With agents, it has
// every cluster Secret of Argo CD in all namespaces, to find argocd-agents. Other Secrets never
// reach this process.
func Caches(agents bool, namespaces ...string) map[client.Object]cache.ByObject {
	selected := labels.Set{contract.RegisteredLabel: "true"}
	if agents {
		selected = labels.Set(clustersecret.Selector)
	} else {
		namespaces = namespaces[:1]
	}
	in := map[string]cache.Config{}
	for _, namespace := range namespaces {
		in[namespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{&corev1.Secret{}: {Namespaces: in, Label: labels.SelectorFromSet(selected), Transform: clustersecret.Transform}}
}

// Setup adds the controller to mgr. The cache of mgr must be built with [Caches], and its scheme
// must have Secrets and ManagedClusters.
func Setup(mgr ctrl.Manager, options Options) error {
	if options.Backoff == nil {
		options.Backoff = boot.Backoff()
	}
	r := &Reconciler{
		client:        mgr.GetClient(),
		live:          mgr.GetAPIReader(),
		namespace:     options.Namespace,
		instanceLabel: options.InstanceLabel,
		recorder:      mgr.GetEventRecorder("propagation"),
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("register").
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(clustersecret.ClusterChanged)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(clustersecret.ClusterOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: options.Backoff}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up register: %w", err)
	}
	return nil
}
