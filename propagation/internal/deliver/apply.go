// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// applyResult is what came of writing a work.
type applyResult struct {
	name     string
	warnings []policy.Message
}

// applyWork makes the work on the hub the wanted one. Nothing is written when it is, or
// while the managed cluster is at the request in it.
func (wr *writer) applyWork(ctx context.Context, app *argocd.Application, current *manifestcache.Cached, want *workv1.ManifestWork, p request.Plan) (applyResult, error) {
	c, err := payload.HashesOf(&want.Spec, p.Request)
	if err != nil {
		return applyResult{}, err
	}
	if current == nil {
		name, err := wr.create(ctx, app, want, c.Spec)
		return applyResult{name: name}, err
	}
	result := applyResult{name: current.Name}
	c = payload.KeepRefresh(current, want, c)
	same := wr.lastApplied.same(current, c.Spec)
	withSpec := !same || payload.Polls(current)
	wanted := c.Spec
	if p.Step == request.StepHold && withSpec {
		if withSpec, c, result.warnings, err = wr.hold(ctx, current, want, p, c); err != nil {
			return result, err
		}
	}
	payload.MarkGeneration(current, want, withSpec, c.Base)
	payload.MarkStored(current, want, wanted, same, withSpec)
	key := client.ObjectKeyFromObject(app)
	patch, err := payload.Patch(current, want, withSpec)
	if err != nil {
		return result, err
	}
	if patch == nil {
		wr.tracker.unchanged(key, &current.ManifestWork, wr.now())
		return result, nil
	}
	written, err := wr.patchWork(ctx, current, patch)
	if err != nil {
		return result, err
	}
	wr.tracker.wrote(key, "update", wr.now())
	ctrl.LoggerFrom(ctx).V(1).Info("updated ManifestWork", "cluster", written.Namespace, "work", written.Name, "generation", written.Generation)
	if !withSpec {
		return result, nil
	}
	wr.lastApplied.remember(written, c.Spec)
	return result, nil
}

// isRejected reports whether the API server will say the same again.
func isRejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotFound(err)
}

// patchWork sends a patch that was made for current and returns the new metadata.
// When current is out of date the error is a conflict.
func (wr *writer) patchWork(ctx context.Context, current *manifestcache.Cached, patch json.RawMessage) (*metav1.PartialObjectMetadata, error) {
	written := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: current.Namespace, Name: current.Name}}
	written.SetGroupVersionKind(appcache.WorkKind)
	err := wr.client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, patch))
	if err == nil {
		return written, nil
	}
	switch {
	case apierrors.IsNotFound(err): // deleted since
		err = apierrors.NewConflict(workv1.Resource("manifestworks"), current.Name, err)
	case apierrors.IsInvalid(err):
		// A step may have failed only because the map or key it is about has gone.
		now := &workv1.ManifestWork{}
		if live := wr.live.Get(ctx, client.ObjectKeyFromObject(&current.ManifestWork), now); live == nil && now.ResourceVersion != current.ResourceVersion {
			err = apierrors.NewConflict(workv1.Resource("manifestworks"), current.Name, err)
		}
	}
	return nil, fmt.Errorf("patch ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
}

// notApplied returns what becomes of an Application whose work could not be written: one
// that the API server rejects is refused, the rest is tried again. what begins the message.
func notApplied(what string, current *manifestcache.Cached, err error) (delivery, error) {
	switch {
	case current != nil && apierrors.IsNotFound(err):
		return delivery{silent: true, after: afterConflict}, nil // deleted a moment ago: its event is on the way
	case isRejected(err):
		errorsTotal.WithLabelValues(errorKind(err)).Inc()
		return delivery{state: progressRefused, after: afterRefusal, decision: policy.Refuse(policy.ReasonRefused, "%s: the API server refused the ManifestWork: %v", what, err)}, nil
	}
	return delivery{}, err
}
