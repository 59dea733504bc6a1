// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd/delivery"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
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
// holds, and returns when to look again; 0: not for this.
func (r *Reconciler) deliverArgoCD(ctx context.Context, h hubReader, o *v1beta1.GitOpsCluster, f found, holds map[string]bool, facts *intent.Facts) (time.Duration, error) {
	deleting := !o.DeletionTimestamp.IsZero()
	if r.argocd == nil || !deleting && (f.intent.Refusal != nil || f.problem != nil) { // nothing was positively read
		return 0, nil
	}
	request := delivery.Request{Owner: key(o), ArgoCD: f.intent.ArgoCD, Clusters: holds, Abandon: f.intent.Abandon, DryRun: f.intent.DryRun}
	request.Others = func(ctx context.Context) ([]delivery.Request, error) { return r.claims(ctx, h, key(o)) }
	if deleting {
		request.ArgoCD = nil
	}
	result, err := r.argocd.Reconcile(ctx, request)
	if err != nil {
		return 0, err
	}
	facts.ArgoCD, facts.ArgoCDStatus, facts.ArgoCDLeaving = result.Condition, result.Status, result.Leaving
	facts.Waits = append(facts.Waits, result.Waits...)
	if f.intent.DryRun {
		facts.Plan = append(facts.Plan, result.Plan...)
	}
	return result.RequeueAfter, nil
}

// claims returns the Argo CDs that the GitOpsClusters beside one want, the oldest first.
func (r *Reconciler) claims(ctx context.Context, h hubReader, beside types.NamespacedName) ([]delivery.Request, error) {
	list := &v1beta1.GitOpsClusterList{}
	if err := h.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list GitOpsClusters: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1beta1.GitOpsCluster) int {
		if Older(&a, &b) {
			return -1
		}
		return 1
	})
	var claims []delivery.Request
	for i := range list.Items {
		o := &list.Items[i]
		in := intent.Of(o, r.options.settings())
		if key(o) == beside || !o.DeletionTimestamp.IsZero() || in.ArgoCD == nil || in.Refusal != nil || in.DryRun {
			continue
		}
		f, err := h.look(ctx, o, in)
		if err == nil {
			err = r.addDelivered(ctx, o, &f)
		}
		if err != nil {
			return nil, err
		}
		holds, _ := r.holds(key(o), f, time.Now())
		claims = append(claims, delivery.Request{Owner: key(o), ArgoCD: in.ArgoCD, Clusters: holds})
	}
	return claims, nil
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
