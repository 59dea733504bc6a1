// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// hold makes want, which differs from current, a work that leaves alone what the
// managed cluster is at: of the stored spec only the AppProjects change. It returns
// whether they do, and what waits.
func (wr *writer) hold(ctx context.Context, current *manifestcache.Cached, want *workv1.ManifestWork, p request.Plan, c payload.Hashes) (bool, payload.Hashes, []policy.Message, error) {
	waits := func(what string) []policy.Message {
		return []policy.Message{{Reason: policy.ReasonRequestWaiting, Text: fmt.Sprintf(
			"%s until cluster %q has finished %s: wait for it, or terminate the operation", what, current.Namespace, p.Request.ID)}}
	}
	var waiting []policy.Message
	if p.Replaced {
		waiting = waits("the new operation or refresh waits")
	}
	if payload.CachedBase(current) == c.Base {
		return false, c, waiting, nil // only the request differs, and that is replaced later
	}
	stored, err := wr.storedWork(ctx, current)
	if err != nil {
		return false, c, waiting, err
	}
	changed, err := payload.TakeProjects(&stored.Spec, &want.Spec)
	if err != nil {
		return false, c, waiting, err
	}
	kept, err := payload.HashesOf(&stored.Spec, p.Request)
	if err != nil {
		return false, c, waiting, err
	}
	if kept.Base != c.Base {
		waiting = waits("changes wait")
	}
	if !changed || wr.lastApplied.same(current, kept.Spec) {
		return false, c, waiting, nil
	}
	want.Spec = stored.Spec
	payload.KeepApplicationSpec(current, want)
	return true, kept, waiting, nil
}

// withCarriedRequest puts the request that a work carries in the place of q's.
func (op *operations) withCarriedRequest(ctx context.Context, current *manifestcache.Cached, q request.Request) (request.Request, error) {
	stored, err := op.storedWork(ctx, current)
	if err != nil {
		return q, err
	}
	kept, err := payload.CarriedRequest(&stored.Spec, q)
	if err != nil {
		return q, fmt.Errorf("decode the Application in ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
	}
	return kept, nil
}

// storedWork returns a cached work with its spec, which the cache does not keep, as it
// was when it was cached.
func (f *gatherer) storedWork(ctx context.Context, cached *manifestcache.Cached) (*workv1.ManifestWork, error) {
	stored := &workv1.ManifestWork{}
	err := f.live.Get(ctx, client.ObjectKeyFromObject(&cached.ManifestWork), stored)
	if apierrors.IsNotFound(err) || err == nil && stored.ResourceVersion != cached.ResourceVersion {
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), cached.Name, err) // the cache is behind
	}
	if err != nil {
		return nil, fmt.Errorf("get ManifestWork %s/%s: %w", cached.Namespace, cached.Name, err)
	}
	return stored, nil
}

// updateProjects gives the AppProjects in a work that stays as it is otherwise what the hub
// has of them now: each work carries its own copy, and one that stayed wide would be applied
// in turns with the others'. Every path that leaves a work standing passes through here.
func (wr *writer) updateProjects(ctx context.Context, work *manifestcache.Cached) error {
	if work == nil || !wr.options.Project || work.DeletionTimestamp != nil {
		return nil
	}
	stored, err := wr.storedWork(ctx, work)
	if err != nil {
		return err
	}
	changed, err := payload.UpdateProjects(&stored.Spec, work.Namespace, wr.options.InstanceLabel, func(name string) (*argocd.AppProject, error) {
		return wr.namedProject(ctx, wr.client, name)
	})
	if err != nil || !changed {
		return err
	}
	patch, err := payload.SpecPatch(stored)
	if err != nil {
		return err
	}
	if _, err = wr.patchWork(ctx, work, patch); err != nil {
		return err
	}
	worksWritten.WithLabelValues("update").Inc()
	ctrl.LoggerFrom(ctx).Info("updated the AppProject in a ManifestWork that is left as it is otherwise", "cluster", work.Namespace, "work", work.Name)
	return nil
}
