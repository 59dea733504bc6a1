// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// existingWorkError is the error of a create that found the Application's own work, which
// the cache does not have: its pull label is gone, or its annotations were changed.
type existingWorkError struct{ work *manifestcache.Cached }

func (e *existingWorkError) Error() string {
	return fmt.Sprintf("ManifestWork %s/%s exists and is not in the cache", e.work.Namespace, e.work.Name)
}

// create writes a new work under the first name that no other work has. The error is
// an [existingWorkError] when the Application's own work has it.
func (wr *writer) create(ctx context.Context, app *argocd.Application, want *workv1.ManifestWork, hash string) (string, error) {
	for _, name := range payload.WorkNames(app) {
		want.Name = name
		written := want.DeepCopy()
		err := wr.client.Create(ctx, written)
		if err == nil {
			wr.tracker.wrote(client.ObjectKeyFromObject(app), "create", wr.now())
			ctrl.LoggerFrom(ctx).V(1).Info("created ManifestWork", "cluster", written.Namespace, "work", written.Name)
			wr.lastApplied.remember(written, hash)
			return name, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("create ManifestWork %s/%s: %w", want.Namespace, name, err)
		}
		there, err := wr.liveWork(ctx, client.ObjectKeyFromObject(want))
		if err != nil {
			return "", err
		}
		if there == nil {
			return "", apierrors.NewConflict(workv1.Resource("manifestworks"), name, nil) // deleted in between
		}
		delivers := payload.DeliveredBy(&there.Spec)
		if owner, ours := manifestcache.ApplicationOf(there); ours && owner == client.ObjectKeyFromObject(app) {
			if delivers.Name != "" && delivers != payload.DeliveredName(app) {
				continue // a former one, which ends once this one is applied
			}
			return "", apierrors.NewConflict(workv1.Resource("manifestworks"), name, nil) // the cache is behind
		}
		if delivers == payload.DeliveredName(app) {
			return "", &existingWorkError{appcache.Compact(there)}
		}
	}
	return "", fmt.Errorf("create ManifestWork for Application %s/%s: all its names are taken on cluster %s", app.Namespace, app.Name, want.Namespace)
}

// liveWork returns a work from the API server, nil when there positively is none.
func (f *gatherer) liveWork(ctx context.Context, key client.ObjectKey) (*workv1.ManifestWork, error) {
	work := &workv1.ManifestWork{}
	err := f.live.Get(ctx, key, work)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ManifestWork %s: %w", key, err)
	}
	return work, nil
}

// bindToUID marks the wanted work with the Application's UID when the name that it
// keeps does not prove whose it is.
func bindToUID(app *argocd.Application, current *manifestcache.Cached, want *workv1.ManifestWork) {
	if current != nil && !slices.Contains(payload.WorkNames(app), current.Name) {
		want.Annotations[contract.HubUIDAnnotation] = string(app.UID)
	}
}

// nameTaken warns about a work that could not have its usual name and still cannot.
func (wr *writer) nameTaken(ctx context.Context, app *argocd.Application, cluster, name string) ([]policy.Message, error) {
	own := payload.WorkNames(app)
	if slices.Index(own, name) <= 0 {
		return nil, nil // it has it, or keeps the name of an earlier life
	}
	there, err := wr.liveWork(ctx, client.ObjectKey{Namespace: cluster, Name: own[0]})
	if err != nil || there == nil {
		return nil, err
	}
	if claimant, named := manifestcache.ClaimantOf(there); named && claimant == client.ObjectKeyFromObject(app) {
		return nil, nil // its own of before a move within the cluster, which is on its way out
	}
	return []policy.Message{{Reason: policy.ReasonNameTaken, Text: fmt.Sprintf(
		"delivered as ManifestWork %s/%s, since another ManifestWork has the name %s: remove or rename that one", cluster, name, own[0])}}, nil
}
