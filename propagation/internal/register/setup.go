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

	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Options of [Setup].
type Options struct {
	// Namespace is where the hub's Argo CD looks for cluster Secrets.
	Namespace string
	// InstanceLabel is the label key that this Argo CD tracks resources by
	// (application.instanceLabelKey in argocd-cm), beside its default key.
	InstanceLabel string
	// Backoff decides when a failed cluster is tried again; nil: [boot.Backoff].
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

func (o Options) withDefaults() Options {
	if o.Backoff == nil {
		o.Backoff = boot.Backoff()
	}
	return o
}

// Caches returns what the manager's cache must hold for [Setup]: Secrets of one
// namespace with our label, and of their data only what is compared. Other
// Secrets never reach this process.
func Caches(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{namespace: {}},
			Label:      labels.SelectorFromSet(labels.Set{contract.RegisteredLabel: "true"}),
			Transform:  trim,
		},
	}
}

// trim drops the values of a Secret but for name and server; the other keys stay, so
// that they are seen and removed.
func trim(in any) (any, error) {
	secret, ok := in.(*corev1.Secret)
	if !ok {
		return in, nil
	}
	secret.ManagedFields = nil
	for key := range secret.Data {
		if key != dataName && key != dataServer {
			secret.Data[key] = nil
		}
	}
	return secret, nil
}

// Setup adds the controller to mgr, whose cache must be built with [Caches] and
// whose scheme must know Secrets and ManagedClusters.
func Setup(mgr ctrl.Manager, options Options) error {
	options = options.withDefaults()
	r := &Reconciler{
		client:        mgr.GetClient(),
		live:          mgr.GetAPIReader(),
		namespace:     options.Namespace,
		instanceLabel: options.InstanceLabel,
		recorder:      mgr.GetEventRecorder("propagation"),
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("register").
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(clusterChanged)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: options.Backoff}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up register: %w", err)
	}
	return nil
}

// clusterChanged lets through what a Secret depends on; a ManagedCluster's status
// changes all the time.
var clusterChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return ok && ok2 && (registrable(before) != registrable(after) || !maps.Equal(before.Labels, after.Labels))
	},
}

// clusterOf returns the cluster of a Secret, by the Secret's name: another client may
// have changed its labels.
func clusterOf(_ context.Context, secret client.Object) []reconcile.Request {
	cluster, ok := strings.CutSuffix(secret.GetName(), nameSuffix)
	if !ok || cluster == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}
