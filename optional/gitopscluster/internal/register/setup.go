// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"fmt"
	"time"

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
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Options are the options of [Setup].
type Options struct {
	// Namespaces are the namespaces in which Argo CDs of the hub read cluster Secrets.
	Namespaces []string
	// InstanceLabel is the label key by which this Argo CD tracks resources
	// (application.instanceLabelKey in argocd-cm), in addition to its default key.
	InstanceLabel string
	// Scope decides which clusters are registered.
	Scope Scope
	// Grace is how long a ManagedCluster has to be missing before its Secret is deleted.
	Grace time.Duration
	// Requeue enqueues clusters by name without an event. It may be nil.
	Requeue source.Source
	// Backoff decides when a failed cluster is tried again. If it is nil, [boot.Backoff] decides.
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

func (o Options) withDefaults() Options {
	if o.Backoff == nil {
		o.Backoff = boot.Backoff()
	}
	return o
}

// secretsByCluster is the index of cluster Secrets by the cluster that they register.
const secretsByCluster = "register.cluster"

// Caches returns the objects that the manager's cache must have for [Setup]. They are the Secrets
// of some namespaces that Argo CD reads as clusters, so that no two Secrets register the same
// cluster. It keeps only the compared fields of their data. Other Secrets never reach this process.
// They are also the ManagedClusters, without the fields that nothing in this module reads.
func Caches(namespaces ...string) map[client.Object]cache.ByObject {
	in := map[string]cache.Config{}
	for _, namespace := range namespaces {
		in[namespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Namespaces: in, Label: labels.SelectorFromSet(labels.Set(clustersecret.Selector)), Transform: clustersecret.Transform,
		},
		&clusterv1.ManagedCluster{}: {Transform: trimCluster},
	}
}

// trimCluster keeps the fields of a ManagedCluster that are read. The cluster may write its object,
// with a status and annotations of any size. The labels are copied to its Secret.
func trimCluster(in any) (any, error) {
	cluster, ok := in.(*clusterv1.ManagedCluster)
	if !ok {
		return in, nil
	}
	const registries = clusterv1.ClusterImageRegistriesAnnotationKey
	annotations := map[string]string{}
	if value, found := cluster.Annotations[registries]; found {
		annotations[registries] = value
	}
	cluster.ManagedFields, cluster.Annotations = nil, annotations
	cluster.Spec = clusterv1.ManagedClusterSpec{HubAcceptsClient: cluster.Spec.HubAcceptsClient}
	_ = status.TrimCluster(&cluster.Status)
	return cluster, nil
}

// Setup adds the controller to mgr. The cache of mgr must be built with [Caches], and its scheme
// must have Secrets and ManagedClusters.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	options = options.withDefaults()
	r := &Reconciler{
		client:        mgr.GetClient(),
		live:          mgr.GetAPIReader(),
		namespaces:    options.Namespaces,
		scope:         options.Scope,
		instanceLabel: options.InstanceLabel,
		recorder:      mgr.GetEventRecorder("gitopscluster"),
		grace:         options.Grace,
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Secret{}, secretsByCluster, byCluster); err != nil {
		return fmt.Errorf("index Secrets by cluster: %w", err)
	}
	c := ctrl.NewControllerManagedBy(mgr).
		Named("register").
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(clustersecret.ClusterChanged)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(clustersecret.ClusterOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: options.Backoff})
	if options.Requeue != nil {
		c.WatchesRawSource(options.Requeue)
	}
	if err := c.Complete(r); err != nil {
		return fmt.Errorf("set up register: %w", err)
	}
	return nil
}

func byCluster(o client.Object) []string {
	if secret, ok := o.(*corev1.Secret); ok && clustersecret.ClusterName(secret) != "" {
		return []string{clustersecret.ClusterName(secret)}
	}
	return nil
}
