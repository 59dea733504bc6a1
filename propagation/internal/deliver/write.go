// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

var workKind = schema.GroupVersionKind{Group: workv1.GroupName, Version: "v1", Kind: "ManifestWork"}

// putResult is what came of a put.
type putResult struct {
	name     string
	warnings []finding
}

// put makes the work on the hub the wanted one. Nothing is written when it is, or
// while the managed cluster is at the request in it.
func (r *Reconciler) put(ctx context.Context, app *argocd.Application, current, want *workv1.ManifestWork, p plan) (putResult, error) {
	c, err := changeOf(&want.Spec, p.request)
	if err != nil {
		return putResult{}, err
	}
	if current == nil {
		name, err := r.create(ctx, app, want, c.hash)
		return putResult{name: name}, err
	}
	result := putResult{name: current.Name}
	same := r.settled.same(current, c.hash)
	withSpec := !same || degraded(current)
	wanted := c.hash
	if p.step == stepHold && withSpec {
		if withSpec, c, result.warnings, err = r.hold(ctx, current, want, p, c); err != nil {
			return result, err
		}
	}
	markGeneration(current, want, withSpec, c.base)
	markStored(current, want, wanted, same, withSpec)
	key := client.ObjectKeyFromObject(app)
	patch, err := workPatch(current, want, withSpec)
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
	r.settled.remember(written, c.hash)
	return result, nil
}

// markGeneration keeps, on the wanted work, the generation at which more than a
// request last changed, so that a request coming and going does not make yesterday's
// feedback look outdated. A change of more drops the mark: then it is the work's own.
func markGeneration(current, want *workv1.ManifestWork, withSpec bool, base string) {
	mark := current.Annotations[wire.ChangeGenerationAnnotation]
	switch {
	case withSpec && baseOf(current) != base:
		return
	case withSpec && mark == "":
		mark = strconv.FormatInt(current.Generation, 10)
	}
	if mark != "" {
		want.Annotations[wire.ChangeGenerationAnnotation] = mark
	}
}

// baseOf returns the hash of a cached work's spec without its request.
func baseOf(work *workv1.ManifestWork) string {
	if base, there := work.Annotations[baseAnnotation]; there {
		return base
	}
	return work.Annotations[hashAnnotation]
}

// refused reports whether the API server will say the same again.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotFound(err)
}

// degraded reports whether a stored work polls although the CRD knows to watch.
func degraded(work *workv1.ManifestWork) bool {
	return work.Annotations[scrapeAnnotation] == string(workv1.FeedbackPollType)
}
