// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const (
	// pulledLook is how often pulled Applications are listed while a deletion waits for them.
	pulledInterval = 30 * time.Second
	// pulledPage is how many of them are read at a time.
	pulledPage = 500
)

// Applications are listed while a GitOpsCluster is being deleted, as metadata.
// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=list

// wait is why a deletion waits.
type wait struct {
	// at is when the Applications were listed for the clusters in going.
	at     time.Time
	going  map[string]bool
	pulled []string
}

// unconfirmed returns the clusters with pulled Applications that lose their Secret with a
// GitOpsCluster that is being deleted. Generators of ApplicationSets then delete these
// Applications. unconfirmed returns none if they are no more than the user has confirmed, or if the
// deletion has begun.
func (r *Reconciler) unconfirmed(ctx context.Context, o *v1beta1.GitOpsCluster, f found) ([]string, error) {
	if r.confirmed[key(o)] {
		return nil, nil
	}
	going, err := r.lastHeld(ctx, o, f)
	if err != nil || len(going) <= f.intent.Confirmed {
		return nil, err // also if none exists
	}
	// Every pass asks. Only a new list lets a deletion begin.
	last := r.waits[key(o)]
	if time.Since(last.at) < pulledInterval && maps.Equal(last.going, going) && len(last.pulled) > f.intent.Confirmed {
		return last.pulled, nil
	}
	delete(r.waits, key(o))
	pulled, err := r.pulledOf(ctx, going, f.intent.ArgoNamespace)
	if err != nil || len(pulled) <= f.intent.Confirmed {
		return nil, err
	}
	r.waits[key(o)] = wait{time.Now(), going, pulled}
	return pulled, nil
}

// pulledOf returns which of some clusters have a pulled Application of an Argo CD, sorted.
func (r *Reconciler) pulledOf(ctx context.Context, clusters map[string]bool, argo string) ([]string, error) {
	pulled := map[string]bool{}
	for next := ""; ; {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind + "List"))
		err := r.live.List(ctx, list, client.HasLabels{contract.PullLabel}, client.Limit(pulledPage), client.Continue(next))
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list Applications: %w", err)
		}
		for i := range list.Items {
			cluster := list.Items[i].Annotations[contract.ClusterAnnotation]
			if clusters[cluster] && !r.ofAnotherArgoCD(list.Items[i].Namespace, argo) {
				pulled[cluster] = true
			}
		}
		if next = list.Continue; next == "" {
			break
		}
	}
	return slices.Sorted(maps.Keys(pulled)), nil
}

// ofAnotherArgoCD reports whether Applications of a namespace are another Argo CD's: no
// generator of this one makes them.
func (r *Reconciler) ofAnotherArgoCD(namespace, argo string) bool {
	return namespace != argo && slices.Contains(r.options.Namespaces, namespace)
}

// lastHeld returns the clusters that this GitOpsCluster has not released yet, if no other
// GitOpsCluster keeps their Secret.
func (r *Reconciler) lastHeld(ctx context.Context, o *v1beta1.GitOpsCluster, f found) (map[string]bool, error) {
	going := map[string]bool{}
	if f.intent.ArgoNamespace == r.options.everyIn() {
		return going, nil
	}
	list := &v1beta1.GitOpsClusterList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list GitOpsClusters: %w", err)
	}
	stay := map[string]bool{}
	for i := range list.Items {
		stay[key(&list.Items[i]).String()] = list.Items[i].DeletionTimestamp.IsZero()
	}
	for cluster := range f.held {
		kept := slices.ContainsFunc(clustersecret.Holders(f.secrets[cluster]), func(holder string) bool { return stay[holder] })
		if !kept && !r.assignments.hasReleased(key(o), f.intent.ArgoNamespace, cluster) {
			going[cluster] = true
		}
	}
	return going, nil
}
