// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
)

// readApplications reads the problems that the agents of an Argo CD cause for Applications and
// AppProjects. It returns the time until the next check. Before the first agent exists, it protects the
// clusters' default AppProject from being overwritten.
func (r *Reconciler) readApplications(ctx context.Context, v *view) (time.Duration, error) {
	foreign, err := v.keepDefault(ctx, r.options, r.applications)
	if err != nil {
		return 0, err
	}
	clusters := applications.Clusters{Agents: map[string]bool{}, Managed: map[string]bool{}, Foreign: foreign}
	for _, a := range v.specs {
		for _, name := range a.all() {
			if a.Agent != nil && v.assigned[name] == a.Owner {
				clusters.Agents[name] = true
				clusters.Managed[name] = clusters.Managed[name] || a.Agent.Mode == agent.ModeManaged
			}
		}
	}
	report, after, err := r.applications.Read(ctx, v.namespace, clusters)
	if err != nil { // the agents do not depend on it
		ctrl.LoggerFrom(ctx).Error(err, "cannot read what agents do to Applications", "namespace", v.namespace)
	}
	v.applications = report
	return after, nil
}

// keepDefault keeps the clusters' default AppProject, or records in a dry run that it has to. It
// returns the clusters that another writer has registered with Argo CD.
func (v *view) keepDefault(ctx context.Context, options Options, reader *applications.Reader) (foreign map[string]bool, err error) {
	others := false
	if options.Registered != nil {
		if foreign, others, err = options.Registered(ctx, v.namespace); err != nil {
			return nil, err
		}
	}
	for _, p := range v.existing {
		others = others || p.addOn != nil || p.work != nil
	}
	managed := slices.DeleteFunc(slices.Clone(v.specs), func(a Spec) bool { return a.Agent == nil || a.Agent.Mode != agent.ModeManaged })
	if len(managed) == 0 || others {
		return foreign, nil
	}
	dryRun := !slices.ContainsFunc(managed, func(a Spec) bool { return !a.DryRun })
	v.keepsDefault, err = reader.KeepDefault(ctx, v.namespace, dryRun)
	return foreign, err
}
