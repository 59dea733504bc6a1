// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal/reader"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// workers is the number of clusters that are reconciled in parallel.
const workers = 20

// Caches returns the objects that the manager's cache must have in addition to Secrets and
// ManagedClusters.
func Caches(namespaces []string) map[client.Object]cache.ByObject {
	all := reader.Caches(namespaces)
	maps.Copy(all, sign.Caches())
	return all
}

// Setup adds the controllers to mgr. The cache of mgr must be built with [Caches]. pass is the
// request of another controller, which watches [Reconciler.Sources] and calls [Reconciler.MakePlan].
func Setup(ctx context.Context, mgr ctrl.Manager, options Options, pass reconcile.Request) (*Reconciler, error) {
	lists, err := applications.NewLists(mgr.GetConfig())
	if err != nil {
		return nil, err
	}
	r := newReconciler(mgr.GetClient(), mgr.GetAPIReader(), lists, options)
	if r.fleet, err = fleet.New(mgr); err != nil {
		return nil, err
	}
	if err := sign.Setup(ctx, mgr, r.reports.signing); err != nil {
		return nil, err
	}
	secrets, err := certificates.Source(mgr, options.Namespaces, enqueued[*metav1.PartialObjectMetadata](pass))
	if err != nil {
		return nil, err
	}
	r.sources = append(r.fleet.Sources(func(string) []reconcile.Request { return []reconcile.Request{pass} }), secrets,
		source.Kind(mgr.GetCache(), &corev1.Service{}, enqueued[*corev1.Service](pass)),
		source.Kind(mgr.GetCache(), &appsv1.Deployment{}, enqueued[*appsv1.Deployment](pass)))
	controllers := ctrl.NewControllerManagedBy(mgr).
		Named("agents").
		WatchesRawSource(r.queue.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: boot.Backoff()})
	for _, s := range r.fleet.Sources(func(name string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
	}) {
		controllers.WatchesRawSource(s)
	}
	if err := controllers.Complete(r); err != nil {
		return nil, fmt.Errorf("set up agents: %w", err)
	}
	return r, nil
}

// enqueued returns a handler that enqueues the same request for every event.
func enqueued[T client.Object](request reconcile.Request) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, T) []reconcile.Request { return []reconcile.Request{request} })
}
