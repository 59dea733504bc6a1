// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/appset"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Caches returns the cache settings for [Setup]. The cache has the fields of ApplicationSets that
// package appset keeps. In the namespaces of Argo CDs it has PlacementDecisions, the ConfigMaps
// that name their kind, and the names of registered clusters.
func Caches(argocdNamespaces []string) map[client.Object]cache.ByObject {
	namespaces := map[string]cache.Config{}
	for _, n := range argocdNamespaces {
		namespaces[n] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{
		&appset.ApplicationSet{}:            {Transform: appset.Trim},
		&clusterv1beta1.PlacementDecision{}: {Namespaces: namespaces, Transform: trimDecision},
		&corev1.ConfigMap{}:                 {Namespaces: namespaces, Transform: trimConfigMap},
		secret(): {
			Namespaces: namespaces, Transform: trimSecret,
			Label: labels.SelectorFromSet(labels.Set{argocd.SecretTypeLabel: argocd.SecretTypeCluster}),
		},
	}
}

// Setup adds the controller to mgr. Its cache must be limited to [Caches].
func Setup(mgr ctrl.Manager, argocdNamespaces []string) error {
	return setup(mgr, newReconciler(mgr.GetClient(), argocdNamespaces))
}

func newReconciler(c client.Client, argocdNamespaces []string) *Reconciler {
	return &Reconciler{client: c, argocd: argocdNamespaces, now: time.Now, absence: absence, states: map[types.NamespacedName]*state{}}
}

func setup(mgr ctrl.Manager, r *Reconciler) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("refresh").
		For(&appset.ApplicationSet{}, builder.WithPredicates(setChanged)).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(r.selecting), builder.WithPredicates(decisionChanged)).
		// A changed Secret is a rotated credential. Only the existence of its cluster counts.
		Watches(secret(), handler.EnqueueRequestsFromMapFunc(r.reading), builder.WithPredicates(labelsChanged)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.reading), builder.WithPredicates(predicate.NewPredicateFuncs(isPlacementGenerator))).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: boot.Backoff()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the refreshes of ApplicationSets: %w", err)
	}
	return nil
}

// selecting returns the ApplicationSets that may select a PlacementDecision.
func (r *Reconciler) selecting(ctx context.Context, decision client.Object) []reconcile.Request {
	return r.requests(ctx, decision.GetNamespace(), func(s appset.Selector) bool {
		return s.Matches(decision.GetName(), decision.GetLabels())
	})
}

// reading returns the ApplicationSets with generators that read an object of Argo CD's namespace.
func (r *Reconciler) reading(ctx context.Context, o client.Object) []reconcile.Request {
	return r.requests(ctx, o.GetNamespace(), func(appset.Selector) bool { return true })
}

func (r *Reconciler) requests(ctx context.Context, namespace string, matches func(appset.Selector) bool) (found []reconcile.Request) {
	sets := &appset.ApplicationSetList{}
	if err := r.client.List(ctx, sets, client.UnsafeDisableDeepCopy); err != nil {
		return nil // reading a cache fails only when the process ends
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		if slices.Contains(r.namespacesOf(s.Namespace), namespace) && slices.ContainsFunc(s.Selectors, matches) {
			found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return found
}

// setChanged ignores the status, which Argo CD writes often.
var setChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*appset.ApplicationSet)
	after, ok2 := e.ObjectNew.(*appset.ApplicationSet)
	return ok && ok2 && (before.Generation != after.Generation || before.Refreshing() != after.Refreshing())
}}

var labelsChanged = predicate.LabelChangedPredicate{}

var decisionChanged = predicate.Or(predicate.LabelChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*clusterv1beta1.PlacementDecision)
	after, ok2 := e.ObjectNew.(*clusterv1beta1.PlacementDecision)
	return ok && ok2 && !slices.Equal(before.Status.Decisions, after.Status.Decisions)
}})

// isPlacementGenerator reports whether a ConfigMap selects PlacementDecisions.
func isPlacementGenerator(o client.Object) bool {
	c, ok := o.(*corev1.ConfigMap)
	if !ok {
		return false
	}
	version := clusterv1beta1.GroupVersion
	return c.Data["apiVersion"] == version.Group+"/"+version.Version && c.Data["kind"] == "placementdecisions" && c.Data["statusListKey"] == "decisions"
}

func secret() *metav1.PartialObjectMetadata {
	s := &metav1.PartialObjectMetadata{}
	s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return s
}

func secrets() *metav1.PartialObjectMetadataList {
	s := &metav1.PartialObjectMetadataList{}
	s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	return s
}

func trimSecret(in any) (any, error) {
	if s, ok := in.(*metav1.PartialObjectMetadata); ok {
		labels := map[string]string{contract.RegisteredNameLabel: s.Labels[contract.RegisteredNameLabel]}
		s.ObjectMeta = trimMeta(&s.ObjectMeta)
		s.Labels = labels
	}
	return in, nil
}

func trimDecision(in any) (any, error) {
	if d, ok := in.(*clusterv1beta1.PlacementDecision); ok {
		labels := d.Labels
		d.ObjectMeta = trimMeta(&d.ObjectMeta)
		d.Labels = labels
	}
	return in, nil
}

// trimConfigMap removes the data of ConfigMaps that do not belong to placements.
func trimConfigMap(in any) (any, error) {
	if c, ok := in.(*corev1.ConfigMap); ok {
		c.ObjectMeta, c.BinaryData = trimMeta(&c.ObjectMeta), nil
		if !isPlacementGenerator(c) {
			c.Data = nil
			return in, nil
		}
		c.Data = map[string]string{"apiVersion": c.Data["apiVersion"], "kind": c.Data["kind"], "statusListKey": c.Data["statusListKey"]}
	}
	return in, nil
}

func trimMeta(o *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
}
