// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	appsv1 "k8s.io/api/apps/v1"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal/reader"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// workers is how many Argo CDs and clusters are reconciled at a time.
const workers = 20

// Caches returns what the manager's cache must hold in addition to Secrets and ManagedClusters.
func Caches(namespaces []string) map[client.Object]cache.ByObject {
	all := reader.Caches(namespaces)
	maps.Copy(all, sign.Caches())
	return all
}

// Setup adds the controllers to mgr. The cache of mgr must be built with [Caches].
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) (*Reconciler, error) {
	r := newReconciler(mgr.GetClient(), mgr.GetAPIReader(), options)
	var err error
	if r.fleet, err = fleet.New(mgr); err != nil {
		return nil, err
	}
	if err := sign.Setup(ctx, mgr, r.reports.signing); err != nil {
		return nil, err
	}
	secrets, err := certificates.Source(mgr, options.Namespaces, handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, o *metav1.PartialObjectMetadata) []reconcile.Request {
			return []reconcile.Request{argo(o.Namespace)}
		}))
	if err != nil {
		return nil, err
	}
	ofArgo := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{argo(o.GetNamespace())}
	})
	controllers := ctrl.NewControllerManagedBy(mgr).
		Named("agents").
		Watches(&corev1.Service{}, ofArgo).
		Watches(&appsv1.Deployment{}, ofArgo).
		WatchesRawSource(secrets).
		WatchesRawSource(r.queue.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: boot.Backoff()})
	for _, s := range r.fleet.Sources(func(name string) []reconcile.Request { return []reconcile.Request{cluster(name)} }) {
		controllers.WatchesRawSource(s)
	}
	if err := controllers.Complete(r); err != nil {
		return nil, fmt.Errorf("set up agents: %w", err)
	}
	return r, nil
}

// Reconcile reconciles an Argo CD or a cluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	if request.Name != "" {
		result, err = r.reconcileCluster(ctx, request.Name)
	} else {
		result, err = r.reconcileArgoCD(ctx, request.Namespace)
	}
	// The next pass reads a Secret that exists by now. An object of another client on a cluster may
	// stay: that is an error, with growing delays.
	if apierrors.IsConflict(err) || request.Name == "" && apierrors.IsAlreadyExists(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("another client wrote the object first; trying again", "cause", err.Error())
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return result, err
}
