// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
)

// Preview returns a reconciler of one spec alone, as a dry run, with its status. The agents of others, the other GitOpsClusters of the Argo CD, stay theirs. It
// reads past every cache and writes nothing.
func Preview(ctx context.Context, from client.Reader, a Spec, others map[types.NamespacedName]bool, options Options) (*Reconciler, error) {
	c := reading{from: from}
	r := newReconciler(c, c, options)
	r.fleet, r.store.started, a.DryRun = fleet.Reading(c), true, true
	r.store.specs[a.Owner] = a
	if !slices.Contains(options.Namespaces, a.ArgoNamespace) {
		r.store.statuses[a.Owner] = Status{}
		return r, nil
	}
	v, err := r.view(ctx, a.ArgoNamespace)
	if err != nil {
		return nil, err
	}
	v.others = len(others) > 0
	for name, p := range v.there {
		switch {
		case others[p.owner]:
			v.assigned[name] = p.owner
		case p.owner == a.Owner && v.assigned[name] != a.Owner:
			r.store.tasks[name] = &task{namespace: v.namespace, owner: a.Owner, untouched: true}
		}
	}
	var state certificates.State
	if a.Agent != nil {
		if _, err = v.keepDefault(ctx, r.options, r.applications); err != nil {
			return nil, err
		}
		if state, err = r.certificates(ctx, v, nil, nil); err != nil {
			return nil, err
		}
		if err := r.previewAgents(ctx, v, a, state); err != nil {
			return nil, err
		}
	}
	statuses, err := r.statusesOf(ctx, v, state)
	if err != nil {
		return nil, err
	}
	r.store.statuses[a.Owner], r.store.complete[a.ArgoNamespace] = statuses[a.Owner], true
	return r, nil
}

// previewAgents records what is desired and what exists on each cluster.
func (r *Reconciler) previewAgents(ctx context.Context, v *view, a Spec, state certificates.State) error {
	for _, name := range a.Clusters {
		if v.assigned[name] != a.Owner {
			continue
		}
		t, err := newTask(v, a, state, name, max(v.there[name].generation(), a.AtLeast, 1))
		if err != nil {
			return err
		}
		r.store.tasks[name] = t
		if !t.dry {
			continue // it would be left as it is
		}
		now, _, err := r.fleet.Plan(ctx, *t.wanted)
		if err != nil {
			return err
		}
		r.store.states[name] = now
	}
	return nil
}

// reading is a client that cannot write.
type reading struct {
	client.Client // nil
	from          client.Reader
}

func (r reading) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return r.from.Get(ctx, key, o, options...)
}

func (r reading) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.from.List(ctx, list, options...)
}
