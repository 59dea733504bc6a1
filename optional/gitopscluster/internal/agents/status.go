// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
)

// statusesOf returns the status of each spec.
func (r *Reconciler) statusesOf(ctx context.Context, v *view, tasks map[string]*task, state certificates.State) (map[types.NamespacedName]Status, error) {
	statuses := map[types.NamespacedName]Status{}
	for _, a := range v.specs {
		status := Status{Principal: v.found[a.Owner], PrincipalProblems: v.problems[a.Owner], CertificateProblems: state.Problems,
			Agents: map[string]agent.State{}, Conflicts: map[string]types.NamespacedName{}, Leaving: map[string]string{}, Applications: &applications.Report{}}
		if a.Owner.Namespace == v.namespace { // others do not have to see the Applications of the hub
			status.Applications = v.applications
		}
		for _, name := range a.all() {
			owner, assigned := v.assigned[name]
			if a.Agent == nil || !assigned {
				continue
			}
			if owner != a.Owner {
				status.Conflicts[name] = owner
				continue
			}
			if name == v.namespace {
				status.Agents[name] = agent.State{Reason: agent.ReasonNameNotAllowed, WaitingFor: agent.WaitsForWork, Message: "an agent would have the name of the hub's Argo CD namespace " + name + ", and reach what is in it; register the cluster with another name, or take it out of the Placement; generators of ApplicationSets then delete its Applications"}
				continue
			}
			is, err := r.stateOf(ctx, tasks[name], v.existing[name])
			if err != nil {
				return nil, err
			}
			status.Agents[name] = is
		}
		for name, t := range tasks {
			if t.owner == a.Owner && t.desired == nil {
				p := v.existing[name]
				l := fleet.Leaving{Name: name, Cluster: p.cluster, Abandoned: t.abandon, Work: p.work, AddOn: p.addOn, LeavingWork: p.leaving}
				status.Leaving[name] = l.WaitsFor()
			}
		}
		if a.DryRun {
			plan, err := r.planOf(ctx, v, a, tasks, state)
			if err != nil {
				return nil, err
			}
			status.Plan = plan
		}
		statuses[a.Owner] = status
	}
	return statuses, nil
}

// stateOf returns the state of the agent of a cluster. If the agent stays unchanged, its desired state
// is not known, and stateOf returns the last reported state.
func (r *Reconciler) stateOf(ctx context.Context, t *task, p presence) (agent.State, error) {
	if t.untouched && !t.dry {
		return agent.Reported(p.addOn), nil
	}
	return r.fleet.State(ctx, *t.desired, p.addOn, p.work)
}

// planOf returns the writes that gitopscluster would make for a spec without the dry run.
func (r *Reconciler) planOf(ctx context.Context, v *view, a Spec, tasks map[string]*task, state certificates.State) ([]agent.Write, error) {
	plan := planned(state.Writes)
	project := agent.Write{Verb: "patch", Kind: "AppProject", Namespace: v.namespace, Name: applications.DefaultProject}
	if v.keepsDefault {
		project.Why = "the clusters' own of that name is not overwritten by agents"
		plan = append(plan, project)
	}
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		t := tasks[name]
		switch {
		case t.owner != a.Owner || t.namespace != v.namespace:
		case t.desired == nil:
			plan = append(plan, r.fleet.PlanLeave(name)...)
		case t.desired.Address != "":
			_, writes, err := r.fleet.Plan(ctx, *t.desired)
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
