// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/certificates"
)

// answer says what has become of each ask.
func (h *Hub) answer(ctx context.Context, v *view, state certificates.State) (map[types.NamespacedName]Answer, error) {
	answers := map[types.NamespacedName]Answer{}
	h.mu.Lock()
	states, leaving := maps.Clone(h.states), maps.Clone(h.leaving)
	tasks := maps.Clone(h.tasks)
	h.mu.Unlock()
	for _, a := range v.asks {
		answer := Answer{Principal: v.found[a.Owner], PrincipalProblems: v.problems[a.Owner], CertificateProblems: state.Problems,
			Agents: map[string]agent.State{}, Conflicts: map[string]types.NamespacedName{}, Leaving: map[string]string{}}
		for _, name := range a.Clusters {
			if a.Agent == nil {
				break
			}
			if owner := v.assigned[name]; owner != a.Owner {
				answer.Conflicts[name] = owner
			} else if s, known := states[name]; known {
				answer.Agents[name] = s
			}
		}
		for name, t := range tasks {
			if t.owner == a.Owner && t.wanted == nil {
				answer.Leaving[name] = leaving[name]
			}
		}
		if a.DryRun {
			plan, err := h.plan(ctx, v, a, state)
			if err != nil {
				return nil, err
			}
			answer.Plan = plan
		}
		answers[a.Owner] = answer
	}
	return answers, nil
}

// plan is what a run would write for an ask.
func (h *Hub) plan(ctx context.Context, v *view, a Ask, state certificates.State) ([]agent.Write, error) {
	plan := planned(state.Writes)
	h.mu.Lock()
	tasks := maps.Clone(h.tasks)
	h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		t := tasks[name]
		switch {
		case t.owner != a.Owner || t.namespace != v.namespace:
		case t.wanted == nil:
			plan = append(plan, h.fleet.PlanLeave(name)...)
		case t.wanted.Address != "":
			writes, err := h.fleet.Plan(ctx, *t.wanted)
			if err != nil {
				return nil, fmt.Errorf("plan for cluster %s: %w", name, err)
			}
			plan = append(plan, writes...)
		}
	}
	if v.others || slices.ContainsFunc(v.asks, func(a Ask) bool { return a.Agent != nil }) {
		return plan, nil
	}
	writes, err := h.keeper.PlanRemove(ctx, v.namespace)
	return append(plan, planned(writes)...), err
}

// tell keeps the answers and says so when they are others than before.
func (h *Hub) tell(v *view, answers map[types.NamespacedName]Answer) {
	h.mu.Lock()
	changed := v.settled && !h.surveyed[v.namespace]
	h.surveyed[v.namespace] = h.surveyed[v.namespace] || v.settled
	for owner, answer := range answers {
		before, known := h.answers[owner]
		changed = changed || !known || !reflect.DeepEqual(before, answer)
		h.answers[owner] = answer
	}
	h.mu.Unlock()
	if changed && h.options.Changed != nil {
		h.options.Changed(v.namespace)
	}
}
