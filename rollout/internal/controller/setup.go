// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=applicationsetrollouts,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.open-cluster-management.io,resources=applicationsetrollouts/status,verbs=update
// +kubebuilder:rbac:groups=argoproj.io,resources=applications;applicationsets,verbs=list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters;placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// Setup adds the controller to mgr, whose cache must be limited to [Caches].
func Setup(ctx context.Context, mgr ctrl.Manager) error {
	works, err := slim.Indexer(ctx, mgr.GetCache(), &workv1.ManifestWork{}, manifestcache.IndexFuncs())
	if err != nil {
		return err
	}
	r := &Reconciler{
		gatherer: &gatherer{client: mgr.GetClient(), cache: mgr.GetCache(), index: manifestcache.NewIndex(works)},
		events:   mgr.GetEventRecorder("rollout"), now: time.Now, looked: map[types.NamespacedName]time.Time{},
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("rollout").
		For(&rollout.ApplicationSetRollout{}).
		Watches(&rollout.ApplicationSetRollout{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			gone, ok := o.(*rollout.ApplicationSetRollout)
			if !ok {
				return nil
			}
			return r.of(ctx, gone.Namespace, gone.Spec.ApplicationSet) // a younger one was refused because of it
		}), builder.WithPredicates(deleted)).
		Watches(&argocd.Application{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			app, ok := o.(*argocd.Application)
			if !ok {
				return nil
			}
			return r.of(ctx, app.Namespace, app.OwningApplicationSet())
		}), builder.WithPredicates(applicationChanged)).
		Watches(&workv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			w, ok := o.(*manifestcache.Work)
			if !ok {
				return nil
			}
			set, ok := w.ApplicationSet()
			if !ok {
				return nil
			}
			return r.of(ctx, set.Namespace, set.Name)
		})).
		Watches(applicationSet(), handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.of(ctx, o.GetNamespace(), o.GetName())
		})).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.of(ctx, o.GetNamespace(), "")
		})).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
			return r.of(ctx, "", "")
		}), builder.WithPredicates(availabilityChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: boot.Backoff()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up rollouts: %w", err)
	}
	return nil
}

// of returns the rollouts of an ApplicationSet, with set empty all of a namespace, with both
// empty all.
func (g *gatherer) of(ctx context.Context, namespace, set string) []reconcile.Request {
	var list rollout.ApplicationSetRolloutList
	if err := g.client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list ApplicationSetRollouts from the cache", "namespace", namespace)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if set == "" || list.Items[i].Spec.ApplicationSet == set {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

var deleted = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
}

// applicationChanged lets through what [trimApplication] keeps: the status that propagation
// writes on an Application is in its work already.
var applicationChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*argocd.Application)
		after, ok2 := e.ObjectNew.(*argocd.Application)
		return ok && ok2 && (!maps.Equal(before.Annotations, after.Annotations) || contract.IsPulled(before.Labels) != contract.IsPulled(after.Labels) ||
			before.OwningApplicationSet() != after.OwningApplicationSet() || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero())
	},
}

// availabilityChanged lets through what a rollout depends on; a ManagedCluster's status
// changes all the time.
var availabilityChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return ok && ok2 && status.ClusterOf("", before).Available != status.ClusterOf("", after).Available
	},
}
