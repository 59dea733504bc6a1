// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/certificates"
)

// Preview returns a hub that has heard of nothing but one ask, as a dry run, and knows the
// answer. The agents of others, the other GitOpsClusters of the Argo CD, stay theirs. It
// reads past every cache and writes nothing.
func Preview(ctx context.Context, from client.Reader, a Ask, others map[types.NamespacedName]bool, options Options) (*Hub, error) {
	c := reading{from: from}
	h := newHub(c, c, options)
	h.fleet, h.started, a.DryRun = fleet.Reading(c), true, true
	h.asks[a.Owner] = a
	if !slices.Contains(options.Namespaces, a.ArgoNamespace) {
		h.answers[a.Owner] = Answer{}
		return h, nil
	}
	v, err := h.view(ctx, a.ArgoNamespace)
	if err != nil {
		return nil, err
	}
	v.others = len(others) > 0
	for name, p := range v.there {
		switch {
		case others[p.owner]:
			v.assigned[name] = p.owner
		case p.owner == a.Owner && v.assigned[name] != a.Owner:
			h.tasks[name] = &task{namespace: v.namespace, owner: a.Owner, untouched: true}
		}
	}
	var state certificates.State
	if a.Agent != nil {
		if state, err = h.certificates(ctx, v, nil, true); err != nil {
			return nil, err
		}
		if err := h.previewAgents(ctx, v, a, state); err != nil {
			return nil, err
		}
	}
	answers, err := h.answer(ctx, v, state)
	if err != nil {
		return nil, err
	}
	h.answers[a.Owner], h.surveyed[a.ArgoNamespace] = answers[a.Owner], true
	return h, nil
}

// previewAgents notes what is wanted on each cluster and what is there.
func (h *Hub) previewAgents(ctx context.Context, v *view, a Ask, state certificates.State) error {
	for _, name := range a.Clusters {
		if v.assigned[name] != a.Owner {
			continue
		}
		t, err := newTask(v, a, state, name, max(v.there[name].generation(), a.AtLeast, 1))
		if err != nil {
			return err
		}
		h.tasks[name] = t
		if !t.dry {
			continue // it would be left as it is
		}
		now, err := h.fleet.Look(ctx, *t.wanted)
		if err != nil {
			return err
		}
		h.states[name] = now
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
