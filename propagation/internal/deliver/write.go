// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

var workKind = schema.GroupVersionKind{Group: workv1.GroupName, Version: "v1", Kind: "ManifestWork"}

// putResult is what came of a put.
type putResult struct {
	name     string
	warnings []policy.Message
}

// put makes the work on the hub the wanted one. Nothing is written when it is, or
// while the managed cluster is at the request in it.
func (r *Reconciler) put(ctx context.Context, app *argocd.Application, current, want *workv1.ManifestWork, p request.Plan) (putResult, error) {
	c, err := payload.HashesOf(&want.Spec, p.Request)
	if err != nil {
		return putResult{}, err
	}
	if current == nil {
		name, err := r.create(ctx, app, want, c.Spec)
		return putResult{name: name}, err
	}
	result := putResult{name: current.Name}
	same := r.settled.same(current, c.Spec)
	withSpec := !same || payload.Polls(current)
	wanted := c.Spec
	if p.Step == request.StepHold && withSpec {
		if withSpec, c, result.warnings, err = r.hold(ctx, current, want, p, c); err != nil {
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
		r.book.settled(key, current, r.now())
		return result, nil
	}
	written, err := r.patchWork(ctx, current, patch)
	if err != nil {
		return result, err
	}
	r.book.wrote(key, "update", r.now())
	ctrl.LoggerFrom(ctx).V(1).Info("updated ManifestWork", "cluster", written.Namespace, "work", written.Name, "generation", written.Generation)
	if !withSpec {
		return result, nil
	}
	r.settled.remember(written, c.Spec)
	return result, nil
}

// refused reports whether the API server will say the same again.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotFound(err)
}
