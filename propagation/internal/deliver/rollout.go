// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// rolled returns what is to be delivered under a rollout: the Application as the work may
// carry it, and what is to be noted on the work. held is not nil when it stays as it is.
func (r *Reconciler) rolled(ctx context.Context, w policy.Inputs, current *manifestcache.Work) (_ policy.Inputs, snapshot string, held *result, err error) {
	d := policy.DecideRollout(w, current)
	hold := func(d policy.RolloutDecision) *result {
		return &result{decision: d.Hold()}
	}
	switch {
	case d.Act == policy.RolloutHold:
		return w, "", hold(d), nil
	case d.Act == policy.RolloutDeliver && !d.Changes:
		w.Carried = d.Carried
		return w, "", nil, nil
	}
	stored, err := r.storedWork(ctx, current)
	if err != nil {
		return w, "", nil, err
	}
	if d.Act == policy.RolloutRestore {
		was, content := payload.Promoted(w.Application, stored, d.Version, d.Stored)
		if was == nil {
			d.Waits += "; what the ManifestWork carried before is not noted on it, so it stays as it is"
			return w, "", hold(d), nil
		}
		d.Carried.Content, w.Application, w.Carried = content, was, d.Carried
		w.Project, err = r.projectAsItWas(ctx, w, was)
		return w, "", nil, err
	}
	w.Carried = d.Carried
	if snapshot, err = payload.Snapshot(stored, d.Version); err != nil {
		d.Waits = "not delivered under a rollout: " + err.Error()
		return w, "", hold(d), nil //nolint:nilerr // the Application's author can mend it
	}
	return w, snapshot, nil, nil
}

// projectAsItWas returns the AppProject that travels with an Application as it was.
func (r *Reconciler) projectAsItWas(ctx context.Context, w policy.Inputs, was *argocd.Application) (*argocd.AppProject, error) {
	if !r.options.Project || payload.ProjectName(was) == argocd.DefaultProject {
		return nil, nil
	}
	if payload.ProjectName(was) == payload.ProjectName(w.Application) {
		return w.Project, nil
	}
	return r.project(ctx, r.client, was)
}
