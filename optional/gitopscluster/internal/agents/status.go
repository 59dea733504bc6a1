// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
)

// statusesOf returns what has become of each spec.
func (r *Reconciler) statusesOf(ctx context.Context, v *view, state certificates.State) (map[types.NamespacedName]Status, error) {
	statuses := map[types.NamespacedName]Status{}
	tasks, states, leaving := r.store.clusters()
	for _, a := range v.specs {
		status := Status{Principal: v.found[a.Owner], PrincipalProblems: v.problems[a.Owner], CertificateProblems: state.Problems,
			Agents: map[string]agent.State{}, Conflicts: map[string]types.NamespacedName{}, Leaving: map[string]string{}, Applications: &applications.Report{}}
		if a.Owner.Namespace == v.namespace { // others do not have to see the Applications of the hub
			status.Applications = v.applications
		}
		for _, name := range a.Clusters {
			if a.Agent == nil {
				break
			}
			if owner := v.assigned[name]; owner != a.Owner {
				status.Conflicts[name] = owner
			} else if name == v.namespace {
				status.Agents[name] = agent.State{Reason: agent.ReasonNameNotAllowed, WaitingFor: agent.WaitsForWork, Message: "an agent would have the name of the hub's Argo CD namespace " + name + ", and reach what is in it; register the cluster with another name, or take it out of the Placement"}
			} else if s, known := states[name]; known {
				status.Agents[name] = s
			}
		}
		for name, t := range tasks {
			if t.owner == a.Owner && t.wanted == nil {
				status.Leaving[name] = leaving[name]
			}
		}
		if a.DryRun {
			plan, err := r.plan(ctx, v, a, state)
			if err != nil {
				return nil, err
			}
			status.Plan = plan
		}
		statuses[a.Owner] = status
	}
	return statuses, nil
}

// plan is what a run would write for a spec.
func (r *Reconciler) plan(ctx context.Context, v *view, a Spec, state certificates.State) ([]agent.Write, error) {
	plan := planned(state.Writes)
	project := agent.Write{Verb: "patch", Kind: "AppProject", Namespace: v.namespace, Name: applications.DefaultProject}
	if v.keepsDefault {
		project.Why = "the clusters' own of that name is not overwritten by agents"
		plan = append(plan, project)
	}
	tasks, _, _ := r.store.clusters()
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		t := tasks[name]
		switch {
		case t.owner != a.Owner || t.namespace != v.namespace:
		case t.wanted == nil:
			plan = append(plan, r.fleet.PlanLeave(name)...)
		case t.wanted.Address != "":
			_, writes, err := r.fleet.Plan(ctx, *t.wanted)
			if err != nil { // it only affects the plan of this cluster
				writes = append(writes, agent.Write{Verb: "wait", Kind: "ManagedCluster", Name: name, Why: "what follows is known later: " + err.Error()})
			}
			plan = append(plan, writes...)
		}
	}
	if v.others || slices.ContainsFunc(v.specs, func(a Spec) bool { return a.Agent != nil }) {
		return plan, nil
	}
	due, err := r.applications.ReleaseDefault(ctx, v.namespace, true)
	if err != nil {
		return nil, err
	}
	if due {
		project.Why = "no agent of this Argo CD is left"
		plan = append(plan, project)
	}
	writes, err := r.keeper.PlanRemove(ctx, v.namespace)
	return append(plan, planned(writes)...), err
}
