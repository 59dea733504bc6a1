// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
)

// Preview returns the plan of one spec as a dry run. others are the other GitOpsClusters of the Argo CD,
// which keep their agents. Preview reads the API server and writes nothing.
func Preview(ctx context.Context, from client.Reader, a Spec, others map[types.NamespacedName]bool, options Options) (*Plan, error) {
	c := reading{from: from}
	r := newReconciler(c, c, applications.Lists{}, options)
	r.fleet, a.DryRun = fleet.Reading(c), true
	existing, err := r.present(ctx, []Spec{a})
	if err != nil {
		return nil, err
	}
	v := viewOf(a, existing, others)
	plan := &Plan{tasks: map[string]*task{}, statuses: map[types.NamespacedName]Status{a.Owner: {}}}
	if !slices.Contains(options.Namespaces, a.ArgoNamespace) {
		return plan, nil
	}
	if err := r.find(ctx, v); err != nil {
		return nil, err
	}
	var state certificates.State
	if a.Agent != nil {
		if _, err = v.keepDefault(ctx, r.options, r.applications); err != nil {
			return nil, err
		}
		if state, err = r.certificates(ctx, v, nil, nil); err != nil {
			return nil, err
		}
		for _, name := range a.all() {
			if v.assigned[name] != a.Owner || name == v.namespace {
				continue
			}
			if plan.tasks[name], err = newTask(v, a, state, name, max(v.existing[name].generation(), a.AtLeast, 1)); err != nil {
				return nil, err
			}
		}
	}
	r.orphans(v)
	r.release(plan.tasks, v)
	plan.statuses, err = r.statusesOf(ctx, v, plan.tasks, state)
	return plan, err
}

// viewOf returns the view of one spec. Agents of others stay assigned to them.
func viewOf(a Spec, existing map[string]presence, others map[types.NamespacedName]bool) *view {
	v := &view{namespace: a.ArgoNamespace, specs: []Spec{a}, assigned: assign([]Spec{a}, existing), existing: map[string]presence{}, others: len(others) > 0}
	for name, p := range existing {
		if p.namespace == v.namespace && others[p.owner] {
			v.assigned[name] = p.owner
		}
		if p.namespace == v.namespace && (p.owner == a.Owner || others[p.owner]) {
			v.existing[name] = p
		}
	}
	return v
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
