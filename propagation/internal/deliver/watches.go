// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
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

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// watch maps every change that may change a decision to the Applications that it concerns, and to
// no others.
func (wa *watcher) watch(ctx context.Context, mgr ctrl.Manager, r *Reconciler) error {
	err := wa.watchAgents(wa.watchDecisions(ctrl.NewControllerManagedBy(mgr))).
		Named("deliver").
		For(&argocd.Application{}, builder.WithPredicates(wa.applicationChanged())).
		WatchesRawSource(wa.budget.Source()).
		WatchesRawSource(wa.sweeper).
		Watches(&argocd.Application{}, handler.EnqueueRequestsFromMapFunc(wa.rivals), builder.WithPredicates(rivalChanged())).
		Watches(&workv1.ManifestWork{}, handler.EnqueueRequestsFromMapFunc(wa.applicationsOf), builder.WithPredicates(wa.workChanged(ctx))).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			wa.reporter.recordBadPausesOf(o)
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
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
			return wa.group(ctx, "", "")
		}), builder.WithPredicates(globalProjectsChanged(wa.options.ArgoCDNamespace))).
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

// applicationsOf maps a work to the Application that it names, and to the Applications that ask for
// the identity that it delivers.
func (wa *watcher) applicationsOf(ctx context.Context, o client.Object) []reconcile.Request {
	key, ok := manifestcache.ApplicationOf(o)
	if !ok {
		return nil
	}
	requests := []reconcile.Request{{NamespacedName: key}}
	if work, ok := o.(*manifestcache.Work); ok {
		if existing, ok := work.Delivers(); ok {
			requests = append(requests, wa.claimantRequests(ctx, o.GetNamespace(), existing)...)
		}
	}
	return requests
}

// rivals maps an Application to the Applications that ask for the same identity on its cluster.
func (wa *watcher) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	app, ok := o.(*argocd.Application)
	if !ok || app.Annotations[contract.ClusterAnnotation] == "" {
		return nil
	}
	return wa.claimantRequests(ctx, app.Annotations[contract.ClusterAnnotation], payload.DeliveredName(app))
}

// ofProject maps an AppProject to its Applications, and to the Applications of works that carry it.
// A deleted Application, or one with another project by now, may have left such works. If other
// AppProjects inherit from it, ofProject returns all Applications. An AppProject "default" only
// leads to warnings about its sync windows. Its Applications in the Argo CD namespace are searched
// for, because an index of them would cost more.
func (wa *watcher) ofProject(ctx context.Context, o client.Object) []reconcile.Request {
	setting, err := globalProjects(ctx, wa.client, wa.options.ArgoCDNamespace)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot read the settings of Argo CD from the cache", "namespace", wa.options.ArgoCDNamespace)
	}
	if err != nil || policy.IsGlobalProject(setting, o.GetName()) {
		return wa.group(ctx, "", "")
	}
	requests := append(wa.applications(ctx, applicationsByProject, "", o.GetName()), wa.carrying(ctx, o.GetName())...)
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

// carrying returns the Applications of the works that carry an AppProject. "default" is not
// delivered, and does not restrict Applications in the Argo CD namespace.
func (wa *watcher) carrying(ctx context.Context, project string) (requests []reconcile.Request) {
	works, err := wa.index.Carrying(project)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list ManifestWorks from the cache", "project", project)
	}
	for _, work := range works {
		if app, ours := work.Application(); ours && (project != argocd.DefaultProject || app.Namespace != wa.options.ArgoCDNamespace) {
			requests = append(requests, reconcile.Request{NamespacedName: app})
		}
	}
	return requests
}

// on returns the Applications that have works on clusters. A cluster may be no longer the target of
// its Application. namespace restricts the result unless it is empty.
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

// applications returns the Applications that an index has for the values. namespace restricts the
// result unless it is empty.
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

// watcher maps every change to the Applications that it concerns.
type watcher struct {
	client   client.Client
	index    *manifestcache.Index
	options  Options
	now      func() time.Time
	reporter *reporter
	sweeper  *sweeper
	tracker  *tracker
	budget   *budget.Budget
}

// claimantRequests returns the requests of the Applications that ask for an identity.
func (wa *watcher) claimantRequests(ctx context.Context, cluster string, identity types.NamespacedName) []reconcile.Request {
	apps, err := applicationsWanting(ctx, wa.client, cluster, identity)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list Applications from the cache", "cluster", cluster)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(apps))
	for _, a := range apps {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a)})
	}
	return requests
}

// watchAgents reconciles Applications when an agent that concerns them is added or removed.
func (wa *watcher) watchAgents(b *builder.Builder) *builder.Builder {
	if len(wa.options.AgentNamespaces) == 0 {
		return b
	}
	changed := predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return len(agentOf(e.Object)) > 0 },
		DeleteFunc: func(e event.DeleteEvent) bool { return len(agentOf(e.Object)) > 0 },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetLabels()[argocd.AgentNameLabel] != e.ObjectNew.GetLabels()[argocd.AgentNameLabel]
		},
	}
	return b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return append(wa.applications(ctx, applicationsByCluster, "", agentOf(o)...), wa.applications(ctx, applicationsByDestination, "", agentOf(o)...)...)
	}), builder.WithPredicates(changed))
}

// watchDecisions informs the budget about changed annotations at once.
func (wa *watcher) watchDecisions(b *builder.Builder) *builder.Builder {
	changed := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
	}})
	decided := handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.decided(ctx, &metav1.PartialObjectMetadata{}, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.decided(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.decided(ctx, e.Object, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: e.Object.GetNamespace(), Name: e.Object.GetName()}}, q)
		},
	}
	return b.Watches(argocd.ApplicationSetMetadata(), wa.observes(), changed).
		Watches(argocd.ApplicationSetMetadata(), decided, changed).
		Watches(appcache.NamespaceMetadata(), decided, changed)
}

// observes records the annotations of ApplicationSets in the budget. Once an ApplicationSet is deleted,
// decisions depend on this record. So it does not wait in one queue with the search for Applications,
// which takes long after a change of many ApplicationSets.
func (wa *watcher) observes() handler.Funcs {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	observe := func(ctx context.Context, o client.Object, record func(context.Context, *metav1.PartialObjectMetadata)) {
		if set, ok := o.(*metav1.PartialObjectMetadata); ok {
			record(ctx, set)
		}
	}
	exists := func(_ context.Context, set *metav1.PartialObjectMetadata) { wa.budget.Observe(set) }
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, _ queue) { observe(ctx, e.Object, exists) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, _ queue) { observe(ctx, e.ObjectNew, exists) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ queue) { observe(ctx, e.Object, wa.budget.Gone) },
	}
}

// decided handles a change of the annotations of an ApplicationSet or Namespace.
func (wa *watcher) decided(ctx context.Context, before, after client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	changed := func(key string) bool { return before.GetAnnotations()[key] != after.GetAnnotations()[key] }
	ofSet := after.GetNamespace() != ""
	if changed(contract.DeletionBudgetAnnotation) {
		wa.budget.Wake()
	}
	if m, ok := after.(*metav1.PartialObjectMetadata); ok {
		wa.reporter.recordInvalid(m, changed)
	}
	switch {
	case changed(contract.PausedAnnotation), changed(contract.DeletionBudgetAnnotation), ofSet && changed(contract.DeletionPolicyAnnotation):
	default:
		return
	}
	switch {
	case ofSet:
		wa.enqueueGroup(ctx, after.GetNamespace(), after.GetName(), q)
	case after.GetName() == wa.options.HubNamespace:
		wa.enqueueGroup(ctx, "", "", q)
	default:
		wa.enqueueGroup(ctx, after.GetName(), "", q)
	}
}

func (wa *watcher) enqueueGroup(ctx context.Context, namespace, set string, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for _, request := range wa.group(ctx, namespace, set) {
		q.Add(request)
	}
}

// group returns the Applications of an ApplicationSet, of a namespace if set is empty, or of the
// hub if both are empty. The result includes deleted Applications that have a work.
func (wa *watcher) group(ctx context.Context, namespace, set string) (requests []reconcile.Request) {
	var apps argocd.ApplicationList
	if err := wa.client.List(ctx, &apps, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list Applications from the cache", "namespace", namespace)
	}
	for i := range apps.Items {
		if set == "" || apps.Items[i].OwningApplicationSet() == set {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])})
		}
	}
	for _, work := range wa.index.All() {
		if app, ours := work.Application(); ours && (namespace == "" || app.Namespace == namespace) && (set == "" || decide.GroupOf(work).Set == set) {
			requests = append(requests, reconcile.Request{NamespacedName: app})
		}
	}
	return requests
}

// applicationChanged accepts changes that can change a decision or a payload, and records when they
// were observed. A status that other controllers write is no such change.
func (wa *watcher) applicationChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			if !e.IsInInitialList && e.Object.GetLabels()[contract.PullLabel] != "" {
				wa.tracker.note(client.ObjectKeyFromObject(e.Object), wa.now())
			}
			return true
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*argocd.Application)
			after, ok2 := e.ObjectNew.(*argocd.Application)
			if !ok || !ok2 {
				return true
			}
			desired := desiredChanged(before, after)
			if desired && after.Labels[contract.PullLabel] != "" {
				wa.tracker.note(client.ObjectKeyFromObject(after), wa.now())
			}
			return desired || ourStatusChanged(before, after) || refreshChanged(before, after)
		},
	}
}

// workChanged accepts changes that a write, a next step or a release depends on, and records when
// the agent has applied the work. The mirror handles other feedback.
func (wa *watcher) workChanged(ctx context.Context) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		wa.sweeper.left(e.Object)
		return true
	}, UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*manifestcache.Work)
		after, ok2 := e.ObjectNew.(*manifestcache.Work)
		if !ok || !ok2 {
			return true
		}
		if app, ours := after.Application(); ours && before.Applied() != after.Applied() {
			if after.Facts.Applied {
				wa.tracker.applied(app, wa.now())
			}
			if after.Annotations[contract.OnWithdrawAnnotation] != "" || wa.index.Several(app) || wa.ending(ctx, app, after) {
				return true // it, or others, may be removed now
			}
		}
		// Conditions report about an Application that is observed or not taken over.
		if after.Annotations[contract.ObservedAnnotation] != "" || before.Refusal() != after.Refusal() {
			return true
		}
		if after.Stored.ProjectHash != "" && before.Compared() != after.Compared() {
			return true // it shows whether the cluster has the keys of an AppProject
		}
		// an ending that needs proof waits for it, see [payload.ProofOf]
		reported := before.Feedback(contract.FeedbackRequest) != after.Feedback(contract.FeedbackRequest)
		return reported || answered(before, after) || before.Generation != after.Generation || !before.SameMetadata(after)
	}}
}

// ending reports whether a work may have to be removed: its Application is deleted, terminating,
// not pulled, refused, has another target, or cannot be read.
func (wa *watcher) ending(ctx context.Context, key client.ObjectKey, work *manifestcache.Work) bool {
	app, err := readObject(ctx, wa.client, key, &argocd.Application{})
	return err != nil || (app == nil || app.DeletionTimestamp != nil || !contract.IsPulled(app.Labels) ||
		app.Annotations[contract.ClusterAnnotation] != work.Namespace || manifestcache.Reduced(app) || concernsUs(app.Status))
}
