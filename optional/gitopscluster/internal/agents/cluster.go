// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// ours selects our objects, which belong to the cache.
var ours = []client.ListOption{client.MatchingLabels{agent.OwnedLabel: "true"}, client.UnsafeDisableDeepCopy}

// Holder is a GitOpsCluster with agents for the Argo CD of a namespace.
type Holder struct {
	Owner         types.NamespacedName
	ArgoNamespace string
}

// Installed returns the clusters that have the agent of each GitOpsCluster. An agent with an add-on in deletion does
// not count. fallback is the namespace of Argo CD for an add-on that names none.
func Installed(ctx context.Context, reader client.Reader, fallback string) (map[Holder][]string, error) {
	var addOns addonv1alpha1.ManagedClusterAddOnList
	if err := reader.List(ctx, &addOns, ours...); err != nil {
		return nil, fmt.Errorf("list ManagedClusterAddOns: %w", err)
	}
	installed := map[Holder][]string{}
	for i := range addOns.Items {
		if a := &addOns.Items[i]; isAgent(a) && a.DeletionTimestamp.IsZero() {
			holder := holderOf(a, fallback)
			installed[holder] = append(installed[holder], a.Namespace)
		}
	}
	return installed, nil
}

// Installed is the function of that name for the hub of r.
func (r *Reconciler) Installed(ctx context.Context) (map[Holder][]string, error) {
	return Installed(ctx, r.fleet.Reader(), r.options.Namespaces[0])
}

func isAgent(a *addonv1alpha1.ManagedClusterAddOn) bool {
	return a.Name == agent.AddOnName && agent.IsOurs(a)
}

// holderOf returns the GitOpsCluster in the annotations of an add-on.
func holderOf(a *addonv1alpha1.ManagedClusterAddOn, fallback string) (h Holder) {
	h.Owner.Namespace, h.Owner.Name, _ = contract.SplitKey(a.Annotations[agent.OwnerAnnotation])
	h.ArgoNamespace = cmp.Or(a.Annotations[agent.ArgoNamespaceAnnotation], fallback)
	return h
}

// present returns the clusters that have an object of an agent on the hub.
func (r *Reconciler) present(ctx context.Context, specs []Spec) (map[string]presence, error) {
	var addOns addonv1alpha1.ManagedClusterAddOnList
	if err := r.fleet.Reader().List(ctx, &addOns, ours...); err != nil {
		return nil, fmt.Errorf("list ManagedClusterAddOns: %w", err)
	}
	works, leaving, err := r.fleet.Works(ctx)
	if err != nil {
		return nil, err
	}
	existing, foreign := map[string]presence{}, map[string]bool{}
	for i := range addOns.Items {
		if a := &addOns.Items[i]; isAgent(a) {
			existing[a.Namespace] = presence{addOn: a}
		} else {
			foreign[a.Namespace] = true
		}
	}
	counts := func(w *workv1.ManifestWork) bool { return !foreign[w.Namespace] && agent.IsOurs(w) }
	for name, w := range works {
		if p := existing[name]; counts(w) {
			p.work = w
			existing[name] = p
		}
	}
	for name, w := range leaving {
		if p := existing[name]; counts(w) {
			p.leaving = w
			existing[name] = p
		}
	}
	for name, p := range existing {
		cluster := &clusterv1.ManagedCluster{}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get ManagedCluster %s: %w", name, err)
		}
		if err == nil {
			p.cluster, p.available = cluster, status.ClusterOf(name, cluster).Available
		}
		if p.owner, p.namespace, err = r.ownerOf(ctx, name, p.addOn, specs); err != nil {
			return nil, err
		}
		existing[name] = p
	}
	return existing, nil
}

// ownerOf returns the GitOpsCluster of an agent, and the namespace of its Argo CD. That namespace may be
// not configured. A managed cluster may write its works, so they do not count. Once the add-on is
// deleted, the cluster Secret decides, which gitopscluster deletes after the agent. If another writer
// has that Secret, the owner is empty.
func (r *Reconciler) ownerOf(ctx context.Context, cluster string, addOn *addonv1alpha1.ManagedClusterAddOn, specs []Spec) (owner types.NamespacedName, namespace string, err error) {
	if addOn != nil {
		h := holderOf(addOn, r.options.Namespaces[0])
		return h.Owner, h.ArgoNamespace, nil
	}
	for _, namespace := range r.options.Namespaces {
		holders, digest, err := r.options.Secret(ctx, namespace, cluster)
		if err != nil {
			return owner, "", err
		}
		if digest == "" || len(holders) == 0 {
			continue
		}
		// A holder that still has the cluster has only registered it.
		i := slices.IndexFunc(holders, func(holder string) bool {
			return !slices.ContainsFunc(specs, func(a Spec) bool { return a.Owner.String() == holder && a.has(cluster) })
		})
		owner.Namespace, owner.Name, _ = contract.SplitKey(holders[max(i, 0)])
		return owner, namespace, nil
	}
	return owner, r.options.Namespaces[0], nil
}
