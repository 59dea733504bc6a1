// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// Preview returns the writes that gitopscluster with these options would make for a GitOpsCluster,
// and its status. The GitOpsCluster does not have to exist on the hub. Preview only reads.
func Preview(ctx context.Context, reader client.Reader, o *v1beta1.GitOpsCluster, options Options) (v1beta1.GitOpsClusterStatus, error) {
	options = options.withDefaults()
	h := hubReader{Reader: trimmed{reader}, everyIn: options.everyIn()}
	admitted, err := h.admitted(ctx, o)
	if err != nil {
		return v1beta1.GitOpsClusterStatus{}, err
	}
	in := intent.Of(o, options.settings(admitted))
	in.DryRun = true
	var installed map[agents.Holder][]string
	if options.Agents != nil {
		if installed, err = agents.Installed(ctx, reader, options.Namespaces[0]); err != nil {
			return v1beta1.GitOpsClusterStatus{}, err
		}
	}
	f, err := h.observe(ctx, o, in, installed)
	if err != nil {
		return v1beta1.GitOpsClusterStatus{}, err
	}
	r := &Reconciler{options: options, assignments: NewAssignments(""), since: map[types.NamespacedName]map[string]time.Time{}}
	holds, decision := r.holds(key(o), f, time.Now())
	agentPlan := agents.Off
	if options.Agents != nil && in.Refusal == nil {
		selected, held := f.clustersOf(key(o).String(), holds)
		if agentPlan, err = previewAgents(ctx, reader, agentSpec(o, in, selected, held), options); err != nil {
			return v1beta1.GitOpsClusterStatus{}, err
		}
	}
	clusters, err := h.clusters(ctx, f)
	if err != nil {
		return v1beta1.GitOpsClusterStatus{}, err
	}
	own := key(o).String()
	others := func(cluster string) (names []string) { // according to their Secrets
		if f.secrets[cluster] == nil {
			return nil
		}
		for _, name := range clustersecret.Holders(f.secrets[cluster]) {
			if name != own {
				names = append(names, name)
			}
		}
		return names
	}
	facts := f.facts(o, func(string) string { return "" })
	facts.Decision, facts.Clusters.Leaving = decision, len(decision.Leaving)
	if in.Refusal == nil {
		status, known := agentPlan.Status(key(o))
		addAgents(status, known, f, o.Status.Conditions, &facts)
		plan, err := f.plan(o, holds, options.InstanceLabel, h.everyIn, clusters, agentPlan.Planned, others)
		if err != nil {
			return v1beta1.GitOpsClusterStatus{}, err
		}
		facts.Plan = append(plan, facts.Plan...)
	}
	return facts.Status(&v1beta1.GitOpsClusterStatus{}, time.Now()), nil
}

// previewAgents returns the plan for the agents of a spec. Other GitOpsClusters keep their agents.
func previewAgents(ctx context.Context, reader client.Reader, spec agents.Spec, options Options) (*agents.Plan, error) {
	list := &v1beta1.GitOpsClusterList{}
	if err := (trimmed{reader}).List(ctx, list); err != nil {
		return nil, fmt.Errorf("list GitOpsClusters: %w", err)
	}
	others := map[types.NamespacedName]bool{}
	for i := range list.Items {
		if other := &list.Items[i]; intent.ArgoNamespace(other) == spec.ArgoNamespace && key(other) != spec.Owner {
			others[key(other)] = true
		}
	}
	o := *options.Agents
	o.Namespaces, o.Limit, o.Grace = options.Namespaces, options.RemovalLimit, options.Grace
	o.Registered, o.Secret = registered(trimmed{reader}), secretOf(reader)
	return agents.Preview(ctx, reader, spec, others, o)
}
