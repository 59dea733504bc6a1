// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// leavingLook is how often a cluster is checked while its agent is being removed.
const leavingLook = 2 * time.Second

// present returns the clusters on which something of an agent of an Argo CD is.
func (r *Reconciler) present(ctx context.Context, namespace string) (map[string]presence, error) {
	there := map[string]presence{}
	var addOns addonv1alpha1.ManagedClusterAddOnList
	ours := []client.ListOption{client.MatchingLabels{agent.OwnedLabel: "true"}, client.UnsafeDisableDeepCopy} // borrowed from the cache
	if err := r.fleet.Reader().List(ctx, &addOns, ours...); err != nil {
		return nil, fmt.Errorf("list ManagedClusterAddOns: %w", err)
	}
	var works workv1.ManifestWorkList
	if err := r.fleet.Reader().List(ctx, &works, ours...); err != nil {
		return nil, fmt.Errorf("list ManifestWorks of agents: %w", err)
	}
	addOnOf := map[string]bool{}
	for i := range addOns.Items {
		addOnOf[addOns.Items[i].Namespace] = true
		if a := &addOns.Items[i]; a.Name == agent.AddOnName && agent.IsOurs(a) && r.store.argoOf(a) == namespace {
			there[a.Namespace] = presence{addOn: a, owner: ownerOf(a)}
		}
	}
	for i := range works.Items {
		w := &works.Items[i]
		if addOnOf[w.Namespace] || !agent.IsOurs(w) || !slices.Contains([]string{agent.WorkName, agent.LeavingWorkName}, w.Name) {
			continue
		}
		owner, argoNamespace, err := r.ownerWithoutAddOn(w)
		if err != nil {
			return nil, err
		}
		if argoNamespace == namespace {
			there[w.Namespace] = presence{owner: owner}
		}
	}
	for name, p := range there {
		cluster := &clusterv1.ManagedCluster{}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get ManagedCluster %s: %w", name, err)
		}
		p.available = err == nil && status.ClusterOf(name, cluster).Available
		there[name] = p
	}
	return there, nil
}

// ownerWithoutAddOn returns the owner of an agent without an add-on, and its Argo CD. The managed
// cluster may change its works, so after a start the owner comes from its Secret, which we keep
// until the agent is removed. If the Secret belongs to another writer, the owner is unknown.
func (r *Reconciler) ownerWithoutAddOn(w client.Object) (owner types.NamespacedName, argoNamespace string, err error) {
	if t, _ := r.store.task(w.GetNamespace(), ""); t != nil {
		return t.owner, t.namespace, nil
	}
	if r.options.Secret == nil {
		return ownerOf(w), r.store.argoOf(w), nil
	}
	for _, namespace := range r.options.Namespaces {
		holders, digest, err := r.options.Secret(namespace, w.GetNamespace())
		if err != nil {
			return owner, "", err
		}
		if digest == "" || len(holders) == 0 {
			continue
		}
		if owner = ownerOf(w); !slices.Contains(holders, owner.String()) {
			owner.Namespace, owner.Name, _ = contract.SplitKey(holders[0])
		}
		return owner, namespace, nil
	}
	return types.NamespacedName{}, r.options.Namespaces[0], nil
}

// reconcileCluster brings the agent to one cluster, or takes it off.
func (r *Reconciler) reconcileCluster(ctx context.Context, name string) (ctrl.Result, error) {
	t, _ := r.store.task(name, "")
	switch {
	case t == nil: // an agent that is not known yet
		r.enqueueAll()
		return ctrl.Result{}, nil
	case t.untouched && !t.dry:
		return ctrl.Result{}, nil
	case t.wanted == nil:
		return r.leave(ctx, name, t)
	}
	var state agent.State
	var err error
	if t.dry {
		state, _, err = r.fleet.Plan(ctx, *t.wanted)
	} else {
		state, err = r.fleet.Ensure(ctx, *t.wanted)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.store.setState(name, state) {
		r.queue.Add(argo(t.namespace))
	}
	return ctrl.Result{}, nil
}

// leave takes one step of taking the agent off.
func (r *Reconciler) leave(ctx context.Context, name string, t *task) (ctrl.Result, error) {
	addOn := &addonv1alpha1.ManagedClusterAddOn{}
	err := r.fleet.Reader().Get(ctx, client.ObjectKey{Namespace: name, Name: agent.AddOnName}, addOn)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get ManagedClusterAddOn %s/%s: %w", name, agent.AddOnName, err)
	}
	kept := presence{addOn: addOn}.issued()
	done, waitingFor, err := r.fleet.Leave(ctx, name, t.abandon)
	if err != nil {
		return ctrl.Result{}, err
	}
	if done && len(kept) > 0 && r.options.Abandoned != nil { // otherwise an earlier step would have deleted the add-on
		r.options.Abandoned(t.owner, name, kept)
	}
	changed := r.store.setLeaving(name, t, waitingFor, done)
	if done && r.options.Reshaped != nil {
		r.options.Reshaped(name)
	}
	if changed {
		r.queue.Add(argo(t.namespace))
	}
	if done {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: leavingLook}, nil
}
