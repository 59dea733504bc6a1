// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Indexes of the cache. A key that an object does not have is not indexed.
const (
	// applicationsByCluster: Applications by the cluster they name.
	applicationsByCluster = "deliver.cluster"
	// applicationsByProject: pulled Applications by project.
	applicationsByProject = "deliver.project"
	// applicationsByIdentity: see identityOf.
	applicationsByIdentity = "deliver.identity"
	// decisionsByCluster: PlacementDecisions by the clusters that they select.
	decisionsByCluster = "deliver.decision"
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer, argocdNamespace string) error {
	for _, i := range []struct {
		object client.Object
		name   string
		keys   client.IndexerFunc
	}{
		{&argocd.Application{}, applicationsByCluster, func(o client.Object) []string { return some(o.GetAnnotations()[contract.ClusterAnnotation]) }},
		{&argocd.Application{}, applicationsByProject, func(o client.Object) []string {
			app, ok := o.(*argocd.Application)
			if !ok || app.Annotations[contract.ClusterAnnotation] == "" {
				return nil
			}
			name := payload.ProjectName(app)
			if name == argocd.DefaultProject && app.Namespace == argocdNamespace {
				return nil // which does not travel, see ofProject
			}
			return []string{name}
		}},
		{&argocd.Application{}, applicationsByIdentity, identityOf},
		{&clusterv1beta1.PlacementDecision{}, decisionsByCluster, func(o client.Object) []string {
			if d, ok := o.(*clusterv1beta1.PlacementDecision); ok {
				return chosen(d)
			}
			return nil
		}},
	} {
		if err := indexer.IndexField(ctx, i.object, i.name, i.keys); err != nil {
			return fmt.Errorf("index %s: %w", i.name, err)
		}
	}
	return nil
}

// watch makes every change that may change a decision reach the Applications that
// it concerns, and no others.
func (wa *watcher) watch(ctx context.Context, mgr ctrl.Manager, r *Reconciler) error {
	err := wa.watchAgents(wa.watchDecisions(ctrl.NewControllerManagedBy(mgr))).
		Named("deliver").
		For(&argocd.Application{}, builder.WithPredicates(wa.applicationChanged())).
		WatchesRawSource(wa.withdrawals.Source()).
		WatchesRawSource(source.Channel(wa.swept, &handler.EnqueueRequestForObject{})).
		Watches(&argocd.Application{}, handler.EnqueueRequestsFromMapFunc(wa.rivals), builder.WithPredicates(rivalChanged())).
		Watches(&workv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(wa.applicationsOf), builder.WithPredicates(wa.workChanged(ctx))).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			wa.recordBadPause(&corev1.ObjectReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "ManagedCluster", Name: o.GetName(), UID: o.GetUID()}, o)
			return append(wa.applications(ctx, applicationsByCluster, "", o.GetName()), wa.on(ctx, "", o.GetName())...)
		}), builder.WithPredicates(clusterChanged())).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			d, ok := o.(*clusterv1beta1.PlacementDecision)
			if !ok {
				return nil
			}
			return append(wa.applications(ctx, applicationsByCluster, d.Namespace, chosen(d)...), wa.on(ctx, d.Namespace, chosen(d)...)...)
		})).
		Watches(&argocd.AppProject{}, handler.EnqueueRequestsFromMapFunc(wa.ofProject)).
		WithOptions(wa.controllerOptions()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("watch Applications: %w", err)
	}
	return nil
}

func (wa *watcher) controllerOptions() controller.Options {
	return controller.Options{MaxConcurrentReconciles: wa.options.Concurrency, RateLimiter: boot.Backoff()}
}

// applicationsOf maps a work to the Application that it names and to those that want to be
// what it delivers.
func (wa *watcher) applicationsOf(ctx context.Context, o client.Object) []reconcile.Request {
	key, ok := manifestcache.ApplicationOf(o)
	if !ok {
		return nil
	}
	requests := []reconcile.Request{{NamespacedName: key}}
	if work, ok := o.(*manifestcache.Work); ok {
		if there, ok := work.Delivers(); ok {
			requests = append(requests, wa.contend(ctx, o.GetNamespace(), there)...)
		}
	}
	return requests
}

// rivals maps an Application to those that want to be the same on its cluster.
func (wa *watcher) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	app, ok := o.(*argocd.Application)
	if !ok || app.Annotations[contract.ClusterAnnotation] == "" {
		return nil
	}
	return wa.contend(ctx, app.Annotations[contract.ClusterAnnotation], payload.DeliveredName(app))
}

// ofProject maps an AppProject to its Applications. Those of the default project in the
// Argo CD namespace, which it may only have to say something of its sync windows, are
// looked for: an index of them would cost more.
func (wa *watcher) ofProject(ctx context.Context, o client.Object) []reconcile.Request {
	requests := wa.applications(ctx, applicationsByProject, "", o.GetName())
	if o.GetName() != argocd.DefaultProject || !wa.options.Project {
		return requests
	}
	var list argocd.ApplicationList
	if err := wa.client.List(ctx, &list, client.InNamespace(wa.options.ArgoCDNamespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list Applications from the cache", "namespace", wa.options.ArgoCDNamespace)
		return requests
	}
	for i := range list.Items {
		if contract.IsPulled(list.Items[i].Labels) && payload.ProjectName(&list.Items[i]) == argocd.DefaultProject {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// on returns the Applications that have works on clusters, of one namespace unless
// that is empty: a cluster that is not their target any more concerns them, too.
func (wa *watcher) on(ctx context.Context, namespace string, clusters ...string) []reconcile.Request {
	var requests []reconcile.Request
	for _, cluster := range clusters {
		apps, err := wa.index.On(cluster)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list ManifestWorks from the cache", "cluster", cluster)
			continue
		}
		for _, key := range apps {
			if namespace == "" || key.Namespace == namespace {
				requests = append(requests, reconcile.Request{NamespacedName: key})
			}
		}
	}
	return requests
}

// applications returns the Applications that an index has under the values, of one
// namespace unless that is empty.
func (wa *watcher) applications(ctx context.Context, name, namespace string, values ...string) []reconcile.Request {
	var requests []reconcile.Request
	for _, value := range values {
		var list argocd.ApplicationList
		if err := wa.client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{name: value}, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list Applications from the cache", "index", name)
			continue
		}
		for i := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// chosen returns the clusters that a decision selects.
func chosen(d *clusterv1beta1.PlacementDecision) []string {
	clusters := make([]string, 0, len(d.Status.Decisions))
	for _, decision := range d.Status.Decisions {
		clusters = append(clusters, decision.ClusterName)
	}
	return clusters
}

func some(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
