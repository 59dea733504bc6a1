// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Options of [Setup].
type Options struct {
	// Namespaces are where Argo CDs of the hub look for cluster Secrets.
	Namespaces []string
	// InstanceLabel is the label key that this Argo CD tracks resources by
	// (application.instanceLabelKey in argocd-cm), beside its default key.
	InstanceLabel string
	// Scope says which clusters are registered; nil: every accepted one, in the first
	// namespace.
	Scope Scope
	// Again has clusters reconciled again, by name; nil: nobody asks for it.
	Again <-chan event.GenericEvent
	// Backoff decides when a failed cluster is tried again; nil: [boot.Backoff].
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

func (o Options) withDefaults() Options {
	if o.Backoff == nil {
		o.Backoff = boot.Backoff()
	}
	if o.Scope == nil {
		o.Scope, o.Namespaces = everything{}, o.Namespaces[:min(1, len(o.Namespaces))]
	}
	return o
}

// ClusterSecrets selects the Secrets that Argo CD reads clusters from.
var ClusterSecrets = client.MatchingLabels{argocd.SecretTypeLabel: argocd.SecretTypeCluster}

// secretsByCluster is the index of cluster Secrets by the cluster that they stand for.
const secretsByCluster = "register.cluster"

// Caches returns what the manager's cache must hold for [Setup]: Secrets of some
// namespaces, and of their data only what is compared. They are those with our label;
// with a [Scope] all that Argo CD reads as clusters, so that two never stand for the
// same one. Other Secrets never reach this process.
func Caches(scoped bool, namespaces ...string) map[client.Object]cache.ByObject {
	selected := labels.SelectorFromSet(labels.Set{contract.RegisteredLabel: "true"})
	if scoped {
		selected = labels.SelectorFromSet(labels.Set(ClusterSecrets))
	} else {
		namespaces = namespaces[:1]
	}
	in := map[string]cache.Config{}
	for _, namespace := range namespaces {
		in[namespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{&corev1.Secret{}: {Namespaces: in, Label: selected, Transform: trim}}
}

func trim(in any) (any, error) {
	if secret, ok := in.(*corev1.Secret); ok {
		secret.ManagedFields = nil
		Trim(secret)
	}
	return in, nil
}

// Trim drops the values of a Secret but for name and server, and keeps a digest of the
// config; the other keys stay, so that they are seen and removed. What a cache first hears
// of in its initial list is trimmed twice.
func Trim(secret *corev1.Secret) {
	for key, value := range secret.Data {
		switch key {
		case dataName, dataServer:
		case dataConfig:
			if !isDigest(value) {
				secret.Data[key] = digest(value)
			}
		default:
			secret.Data[key] = nil
		}
	}
}

// Setup adds the controller to mgr, whose cache must be built with [Caches] and
// whose scheme must know Secrets and ManagedClusters.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	scoped := options.Scope != nil
	options = options.withDefaults()
	r := &Reconciler{
		client:        mgr.GetClient(),
		live:          mgr.GetAPIReader(),
		namespaces:    options.Namespaces,
		scope:         options.Scope,
		rivals:        scoped,
		instanceLabel: options.InstanceLabel,
		recorder:      mgr.GetEventRecorder("propagation"),
	}
	controllers := ctrl.NewControllerManagedBy(mgr).
		Named("register").
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(clusterChanged)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: options.Backoff})
	if scoped {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Secret{}, secretsByCluster, byCluster); err != nil {
			return fmt.Errorf("index Secrets by cluster: %w", err)
		}
		controllers.WatchesRawSource(source.Channel(options.Again, &handler.EnqueueRequestForObject{}))
	}
	if err := controllers.Complete(r); err != nil {
		return fmt.Errorf("set up register: %w", err)
	}
	return nil
}

func byCluster(o client.Object) []string {
	if secret, ok := o.(*corev1.Secret); ok && ClusterName(secret) != "" {
		return []string{ClusterName(secret)}
	}
	return nil
}

// clusterChanged lets through what a Secret depends on; a ManagedCluster's status
// changes all the time.
var clusterChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return ok && ok2 && (Registrable(before) != Registrable(after) || !maps.Equal(before.Labels, after.Labels))
	},
}

// clusterOf returns the cluster of a Secret, by the Secret's name, since another client
// may have changed its labels, and by the name in it, which another writer's may share.
func clusterOf(_ context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	cluster, ok := strings.CutSuffix(o.GetName(), nameSuffix)
	if ok && cluster != "" {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: cluster}})
	}
	if secret, is := o.(*corev1.Secret); is && ClusterName(secret) != "" && ClusterName(secret) != cluster {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: ClusterName(secret)}})
	}
	return requests
}
