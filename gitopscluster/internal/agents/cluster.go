// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// leavingLook is how often a cluster is looked at that the agent is being taken off.
const leavingLook = 2 * time.Second

// presence is what the hub has for the agent of one cluster.
type presence struct {
	addOn     *addonv1alpha1.ManagedClusterAddOn
	owner     types.NamespacedName
	available bool
}

func (p presence) issued() []pki.Issued {
	if p.addOn == nil {
		return nil
	}
	return pki.ParseIssued(p.addOn.Annotations[agent.IssuedAnnotation])
}

// generation is the one that the add-on asks for, 0 for none.
func (p presence) generation() int {
	if p.addOn == nil {
		return 0
	}
	return sign.WantedGeneration(p.addOn)
}

// present returns the clusters on which something of an agent of an Argo CD is.
func (h *Hub) present(ctx context.Context, namespace string) (map[string]presence, error) {
	there := map[string]presence{}
	var addOns addonv1alpha1.ManagedClusterAddOnList
	ours := []client.ListOption{client.MatchingLabels{agent.OwnedLabel: "true"}, client.UnsafeDisableDeepCopy} // borrowed from the cache
	if err := h.fleet.Reader().List(ctx, &addOns, ours...); err != nil {
		return nil, fmt.Errorf("list ManagedClusterAddOns: %w", err)
	}
	var works workv1.ManifestWorkList
	if err := h.fleet.Reader().List(ctx, &works, ours...); err != nil {
		return nil, fmt.Errorf("list ManifestWorks of agents: %w", err)
	}
	addOnOf := map[string]bool{}
	for i := range addOns.Items {
		addOnOf[addOns.Items[i].Namespace] = true
		if a := &addOns.Items[i]; a.Name == agent.AddOnName && agent.IsOurs(a) && h.argoOf(a) == namespace {
			there[a.Namespace] = presence{addOn: a, owner: ownerOf(a)}
		}
	}
	for i := range works.Items {
		w := &works.Items[i]
		if !addOnOf[w.Namespace] && agent.IsOurs(w) && slices.Contains([]string{agent.WorkName, agent.LeavingWorkName}, w.Name) && h.argoOf(w) == namespace {
			there[w.Namespace] = presence{owner: ownerOf(w)}
		}
	}
	for name, p := range there {
		cluster := &clusterv1.ManagedCluster{}
		err := h.client.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get ManagedCluster %s: %w", name, err)
		}
		p.available = err == nil && status.ClusterOf(name, cluster).Available
		there[name] = p
	}
	return there, nil
}

func ownerOf(o client.Object) types.NamespacedName {
	owner := types.NamespacedName{}
	owner.Namespace, owner.Name, _ = contract.SplitKey(o.GetAnnotations()[agent.OwnerAnnotation])
	return owner
}

// argoOf returns the Argo CD whose agent an object is for, which need not be one of ours.
// A work that outlived its add-on does not say so itself.
func (h *Hub) argoOf(o client.Object) string {
	if namespace, says := o.GetAnnotations()[agent.ArgoNamespaceAnnotation]; says {
		return namespace
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tasks[o.GetNamespace()]; t != nil {
		return t.namespace
	}
	if a, known := h.asks[ownerOf(o)]; known {
		return a.ArgoNamespace
	}
	return h.options.Namespaces[0]
}

// stuck asks package sign whether a cluster waits in vain.
func (h *Hub) stuck(ctx context.Context, name string, generation int) (bool, error) {
	if generation == 0 {
		return false, nil
	}
	return sign.Stuck(ctx, h.client, h.signing, name, generation)
}

// workOff brings the agent to one cluster, or takes it off.
func (h *Hub) workOff(ctx context.Context, name string) (ctrl.Result, error) {
	h.mu.Lock()
	t := h.tasks[name]
	h.mu.Unlock()
	switch {
	case t == nil: // something of an agent that no survey has seen yet
		h.lookAtAll(ctx)
		return ctrl.Result{}, nil
	case t.untouched && !t.dry:
		return ctrl.Result{}, nil
	case t.wanted == nil:
		return h.leave(ctx, name, t)
	}
	work := h.fleet.Ensure
	if t.dry {
		work = h.fleet.Look
	}
	state, err := work(ctx, *t.wanted)
	if err != nil {
		return ctrl.Result{}, err
	}
	h.mu.Lock()
	before, known := h.states[name]
	news := h.tasks[name] != nil && (!known || !reflect.DeepEqual(before, state))
	if news {
		h.states[name] = state
		delete(h.leaving, name)
	}
	h.mu.Unlock()
	if news {
		h.look(ctx, argo(t.namespace))
	}
	return ctrl.Result{}, nil
}

// leave takes one step of taking the agent off.
func (h *Hub) leave(ctx context.Context, name string, t *task) (ctrl.Result, error) {
	addOn := &addonv1alpha1.ManagedClusterAddOn{}
	err := h.fleet.Reader().Get(ctx, client.ObjectKey{Namespace: name, Name: agent.AddOnName}, addOn)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get ManagedClusterAddOn %s/%s: %w", name, agent.AddOnName, err)
	}
	kept := presence{addOn: addOn}.issued()
	done, waitingFor, err := h.fleet.Leave(ctx, name, t.abandon)
	if err != nil {
		return ctrl.Result{}, err
	}
	if done && len(kept) > 0 && h.options.Abandoned != nil { // else the add-on would have gone in an earlier step
		h.options.Abandoned(t.owner, name, kept)
	}
	h.mu.Lock()
	news := done || h.leaving[name] != waitingFor
	h.leaving[name] = waitingFor
	delete(h.states, name)
	if done && h.tasks[name] == t {
		delete(h.tasks, name)
		delete(h.leaving, name)
	}
	h.mu.Unlock()
	if done && h.options.Reshaped != nil {
		h.options.Reshaped(name)
	}
	if news {
		h.look(ctx, argo(t.namespace))
	}
	if done {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: leavingLook}, nil
}

// mayHave and setKept: whether certificates in the namespace of an Argo CD may be ours.
func (h *Hub) mayHave(namespace string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept[namespace]
}

func (h *Hub) setKept(namespace string, kept bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept[namespace] = kept
}
