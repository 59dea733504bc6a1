// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/workindex"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

var workKind = schema.GroupVersionKind{Group: workv1.GroupName, Version: "v1", Kind: "ManifestWork"}

// names returns the names that an Application's work may have, in the order in
// which they are tried: the contract's first, then ones with more of the UID for
// when somebody else has it.
func names(app *argocd.Application) []string {
	uid := string(app.UID)
	return []string{
		wire.WorkName(app.Name, uid),
		wire.SafeName(app.Name + "-" + uid[:min(13, len(uid))]),
		wire.SafeName(app.Name + "-" + uid),
	}
}

// choose splits an Application's works into the one that carries it now, nil when
// there is none, and those that do not any more.
func choose(works []workv1.ManifestWork, cluster string, names []string) (current *workv1.ManifestWork, stale []workv1.ManifestWork) {
	best := len(names)
	for i := range works {
		if rank := slices.Index(names, works[i].Name); works[i].Namespace == cluster && rank >= 0 && rank < best {
			best, current = rank, &works[i]
		}
	}
	for i := range works {
		if &works[i] != current {
			stale = append(stale, works[i])
		}
	}
	return current, stale
}

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

// create writes a new work under the first name that nobody else has.
func (r *Reconciler) create(ctx context.Context, app *argocd.Application, want *workv1.ManifestWork, hash string) (string, error) {
	for _, name := range names(app) {
		want.Name = name
		written := want.DeepCopy()
		err := r.client.Create(ctx, written)
		if err == nil {
			r.book.wrote(client.ObjectKeyFromObject(app), "create", r.now())
			ctrl.LoggerFrom(ctx).V(1).Info("created ManifestWork", "cluster", written.Namespace, "work", written.Name)
			r.settled.remember(written, hash)
			return name, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("create ManifestWork %s/%s: %w", want.Namespace, name, err)
		}
		there := &workv1.ManifestWork{}
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(want), there); err != nil {
			return "", fmt.Errorf("get ManifestWork %s/%s, which exists: %w", want.Namespace, name, err)
		}
		if owner, ours := workindex.ApplicationOf(there); ours && owner == client.ObjectKeyFromObject(app) {
			return "", apierrors.NewConflict(workv1.Resource("manifestworks"), name, nil) // the cache is behind
		}
	}
	return "", fmt.Errorf("create ManifestWork for Application %s/%s: all its names are taken on cluster %s", app.Namespace, app.Name, want.Namespace)
}

// refused reports whether the API server will say the same again.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotFound(err)
}

// nameTaken warns about a work that could not have its usual name and still cannot.
func (r *Reconciler) nameTaken(ctx context.Context, app *argocd.Application, cluster, name string) ([]finding, error) {
	first := names(app)[0]
	if name == first {
		return nil, nil
	}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: cluster, Name: first}, &workv1.ManifestWork{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ManifestWork %s/%s: %w", cluster, first, err)
	}
	return []finding{{ReasonNameTaken, fmt.Sprintf(
		"delivered as ManifestWork %s/%s, since somebody else has the name %s: remove or rename that one", cluster, name, first)}}, nil
}

// withdraw deletes works as they were seen: one that has changed since is looked
// at again.
func (r *Reconciler) withdraw(ctx context.Context, works []workv1.ManifestWork, reason string) error {
	for i := range works {
		work := &works[i]
		if work.DeletionTimestamp != nil {
			continue
		}
		err := r.client.Delete(ctx, work.DeepCopy(), client.Preconditions{UID: &work.UID, ResourceVersion: &work.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
		}
		worksWithdrawn.WithLabelValues(reason).Inc()
		ctrl.LoggerFrom(ctx).Info("withdrew ManifestWork", "cluster", work.Namespace, "work", work.Name, "reason", reason)
	}
	return nil
}

// degraded reports whether a stored work polls although the CRD knows to watch.
func degraded(work *workv1.ManifestWork) bool {
	return work.Annotations[scrapeAnnotation] == string(workv1.FeedbackPollType)
}
