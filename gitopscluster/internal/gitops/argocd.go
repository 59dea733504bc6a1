// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"time"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/argocd"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/argocd/delivery"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// addDelivered adds the clusters that have an Argo CD by a GitOpsCluster: while there are any,
// clusters leave it under the limit, whatever becomes of their Secrets.
func (r *Reconciler) addDelivered(ctx context.Context, o *v1beta1.GitOpsCluster, f *found) error {
	if r.argocd == nil {
		return nil
	}
	clusters, err := r.argocd.Held(ctx, key(o))
	f.delivered = map[string]bool{}
	for _, cluster := range clusters {
		f.delivered[cluster] = true
	}
	return err
}

// deliverArgoCD takes the next step for the Argo CDs of the clusters that a GitOpsCluster
// holds, and returns when to look again.
func (r *Reconciler) deliverArgoCD(ctx context.Context, o *v1beta1.GitOpsCluster, f found, holds map[string]bool, facts *intent.Facts, look time.Duration) (time.Duration, error) {
	deleting := !o.DeletionTimestamp.IsZero()
	if r.argocd == nil || !deleting && (f.intent.Refusal != nil || f.problem != nil) { // nothing was positively read
		return look, nil
	}
	request := delivery.Request{Owner: key(o), ArgoCD: f.intent.ArgoCD, Clusters: holds, Abandon: f.intent.Abandon, DryRun: f.intent.DryRun}
	if deleting {
		request.ArgoCD = nil
	}
	result, err := r.argocd.Reconcile(ctx, request)
	if err != nil {
		return look, err
	}
	facts.ArgoCD, facts.ArgoCDStatus, facts.ArgoCDLeaving = result.Condition, result.Status, result.Leaving
	facts.Waits = append(facts.Waits, result.Waits...)
	if f.intent.DryRun {
		facts.Plan = append(facts.Plan, result.Plan...)
	}
	if look == 0 || result.RequeueAfter > 0 && result.RequeueAfter < look {
		look = result.RequeueAfter
	}
	return look, nil
}

// byWork returns the GitOpsClusters that a work which delivers Argo CD is about: the one that
// it belongs to, and those that wait for that one's cluster.
func (r *Reconciler) byWork(ctx context.Context, o client.Object) []reconcile.Request {
	if !argocd.IsOurs(o) {
		return nil
	}
	return r.matching(ctx, func(g *v1beta1.GitOpsCluster) bool {
		return g.Spec.ArgoCD != nil || key(g).String() == o.GetAnnotations()[argocd.OwnerAnnotation]
	})
}

// availabilityChanged lets through what a delivery depends on, beside acceptance.
func (r *Reconciler) availabilityChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
			after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
			const registries = clusterv1.ClusterImageRegistriesAnnotationKey
			return r.argocd != nil && ok && ok2 && (before.Annotations[registries] != after.Annotations[registries] ||
				status.ClusterOf("", before).Available != status.ClusterOf("", after).Available)
		},
	}
}
