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
func (r *Reconciler) watchDecisions(b *builder.Builder) *builder.Builder {
	changed := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
	}})
	decided := handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.observeSet(e.Object)
			r.decided(ctx, &metav1.PartialObjectMetadata{}, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.observeSet(e.ObjectNew)
			r.decided(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.observeSet(e.Object)
			r.decided(ctx, e.Object, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: e.Object.GetNamespace(), Name: e.Object.GetName()}}, q)
		},
	}
	return b.Watches(argocd.ApplicationSetMetadata(), decided, changed).Watches(appcache.NamespaceMetadata(), decided, changed)
}

// observeSet has the budget remember what an ApplicationSet says.
func (r *Reconciler) observeSet(o client.Object) {
	if set, ok := o.(*metav1.PartialObjectMetadata); ok && set.Namespace != "" {
		r.withdrawals.Observe(set)
	}
}

// decided takes up what has changed between two states of an ApplicationSet or Namespace.
func (r *Reconciler) decided(ctx context.Context, before, after client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	changed := func(key string) bool { return before.GetAnnotations()[key] != after.GetAnnotations()[key] }
	if changed(contract.WithdrawalsAnnotation) {
		if m, ok := after.(*metav1.PartialObjectMetadata); ok {
			if _, err := guard.Parse(m.Annotations[contract.WithdrawalsAnnotation], "", r.now()); err != nil {
				r.recordOn(budget.Reference(m), policy.Message{Reason: policy.ReasonInvalidTarget, Text: "nothing is withdrawn: annotation " + contract.KeyPrefix + err.Error()})
			}
		}
		r.withdrawals.Wake()
	}
	if changed(contract.OnWithdrawAnnotation) && after.GetNamespace() != "" {
		if m, ok := after.(*metav1.PartialObjectMetadata); ok {
			if w := policy.ParseOnWithdraw(m.Annotations[contract.OnWithdrawAnnotation], m.Kind+" "+m.Namespace+"/"+m.Name); w.Problem != "" {
				r.recordOn(budget.Reference(m), policy.Message{Reason: policy.ReasonInvalidTarget, Text: "nothing of it is delivered or withdrawn until this is corrected: " + w.Problem})
			}
		}
	} else if ofNamespace := after.GetNamespace() == ""; !changed(contract.PauseAnnotation) && !(ofNamespace && changed(contract.WithdrawalsAnnotation)) {
		return // an approval on a Namespace ends the pause of an ApplicationSet that is gone
	}
	if m, ok := after.(*metav1.PartialObjectMetadata); ok && changed(contract.PauseAnnotation) {
		r.recordBadPause(budget.Reference(m), m)
	}
	namespace := after.GetNamespace()
	if namespace == "" && after.GetName() != r.options.HubNamespace {
		namespace = after.GetName()
	}
	if namespace == r.options.HubNamespace && after.GetNamespace() == "" {
		namespace = "" // the whole hub
	}
	var apps argocd.ApplicationList
	if err := r.client.List(ctx, &apps, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list Applications from the cache", "namespace", namespace)
	}
	for i := range apps.Items {
		if after.GetNamespace() == "" || apps.Items[i].OwningApplicationSet() == after.GetName() {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])})
		}
	}
	for _, work := range r.index.All() { // of Applications that are gone, too
		if app, ours := work.Application(); ours && (namespace == "" || app.Namespace == namespace) {
			q.Add(reconcile.Request{NamespacedName: app})
		}
	}
}

// recordBadPause records on an object that the value of its pause is invalid.
func (r *Reconciler) recordBadPause(ref *corev1.ObjectReference, o client.Object) {
	if p := policy.ParsePause(o.GetAnnotations()[contract.PauseAnnotation], "", r.now()); p.Problem != "" {
		r.recordOn(ref, policy.Message{Reason: policy.ReasonInvalidTarget, Text: "delivery is paused until the value is corrected: annotation " + contract.KeyPrefix + p.Problem})
	}
}

// decisionObject reads an ApplicationSet or Namespace from the cache; one that is not
// there stays empty.
func (r *Reconciler) decisionObject(ctx context.Context, o *metav1.PartialObjectMetadata, key client.ObjectKey) error {
	err := r.client.Get(ctx, key, o, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s %s: %w", o.Kind, key, err)
	}
	return nil
}
