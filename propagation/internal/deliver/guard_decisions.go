// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// watchDecisions makes a decision reach the guard at once.
func (wa *watcher) watchDecisions(b *builder.Builder) *builder.Builder {
	changed := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
	}})
	decided := handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.observeSet(e.Object)
			wa.decided(ctx, &metav1.PartialObjectMetadata{}, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.observeSet(e.ObjectNew)
			wa.decided(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wa.observeSet(e.Object)
			wa.decided(ctx, e.Object, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: e.Object.GetNamespace(), Name: e.Object.GetName()}}, q)
		},
	}
	return b.Watches(argocd.ApplicationSetMetadata(), decided, changed).Watches(appcache.NamespaceMetadata(), decided, changed)
}

// observeSet has the budget remember what an ApplicationSet says.
func (wa *watcher) observeSet(o client.Object) {
	if set, ok := o.(*metav1.PartialObjectMetadata); ok && set.Namespace != "" {
		wa.withdrawals.Observe(set)
	}
}

// decided takes up what has changed between two states of an ApplicationSet or Namespace.
func (wa *watcher) decided(ctx context.Context, before, after client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	changed := func(key string) bool { return before.GetAnnotations()[key] != after.GetAnnotations()[key] }
	ofSet := after.GetNamespace() != ""
	if changed(contract.WithdrawalsAnnotation) {
		wa.withdrawals.Wake()
	}
	if m, ok := after.(*metav1.PartialObjectMetadata); ok {
		wa.recordInvalid(m, changed)
	}
	switch {
	case changed(contract.PauseAnnotation), ofSet && changed(contract.OnWithdrawAnnotation):
	case !ofSet && changed(contract.WithdrawalsAnnotation): // an approval ends the pause of an ApplicationSet that is gone
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

// recordInvalid records on an ApplicationSet or Namespace which changed annotation cannot be
// followed.
func (rep *reporter) recordInvalid(m *metav1.PartialObjectMetadata, changed func(key string) bool) {
	record := func(text string) {
		rep.recordOn(budget.Reference(m), policy.Message{Reason: policy.ReasonInvalidTarget, Text: text})
	}
	if changed(contract.WithdrawalsAnnotation) {
		if _, err := guard.Parse(m.Annotations[contract.WithdrawalsAnnotation], "", rep.now()); err != nil {
			record("nothing is withdrawn: annotation " + contract.KeyPrefix + err.Error())
		}
	}
	if changed(contract.OnWithdrawAnnotation) && m.Namespace != "" {
		if w := policy.ParseOnWithdraw(m.Annotations[contract.OnWithdrawAnnotation], m.Kind+" "+m.Namespace+"/"+m.Name); w.Problem != "" {
			record("nothing of it is delivered or withdrawn until this is corrected: " + w.Problem)
		}
	}
	if changed(contract.PauseAnnotation) {
		rep.recordBadPause(budget.Reference(m), m)
	}
}

// enqueueGroup enqueues the Applications of an ApplicationSet, with set empty all of a
// namespace, with both empty all of the hub; those that are gone and have a work among them.
func (wa *watcher) enqueueGroup(ctx context.Context, namespace, set string, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var apps argocd.ApplicationList
	if err := wa.client.List(ctx, &apps, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list Applications from the cache", "namespace", namespace)
	}
	for i := range apps.Items {
		if set == "" || apps.Items[i].OwningApplicationSet() == set {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])})
		}
	}
	for _, work := range wa.index.All() {
		if app, ours := work.Application(); ours && (namespace == "" || app.Namespace == namespace) && (set == "" || groupOf(work).Set == set) {
			q.Add(reconcile.Request{NamespacedName: app})
		}
	}
}

// recordBadPause records on an object that the value of its pause is invalid.
func (rep *reporter) recordBadPause(ref *corev1.ObjectReference, o client.Object) {
	if p := policy.ParsePause(o.GetAnnotations()[contract.PauseAnnotation], "", rep.now()); p.Problem != "" {
		rep.recordOn(ref, policy.Message{Reason: policy.ReasonInvalidTarget, Text: "delivery is paused until the value is corrected: annotation " + contract.KeyPrefix + p.Problem})
	}
}

// decisionObject reads an ApplicationSet or Namespace from the cache; one that is not
// there stays empty.
func (f *gatherer) decisionObject(ctx context.Context, o *metav1.PartialObjectMetadata, key client.ObjectKey) error {
	err := f.client.Get(ctx, key, o, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s %s: %w", o.Kind, key, err)
	}
	return nil
}
