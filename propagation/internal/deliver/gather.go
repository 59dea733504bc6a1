// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// gatherer has the clients of the hub.
type gatherer struct {
	// client reads from the cache and writes; live reads from the API server.
	client  client.Client
	live    client.Reader
	index   *manifestcache.Index
	options Options
	now     func() time.Time
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

// storedWork returns a cached work with its spec, which the cache does not keep, as it
// was when it was cached.
func (f *gatherer) storedWork(ctx context.Context, cached *manifestcache.Work) (*workv1.ManifestWork, error) {
	stored := &workv1.ManifestWork{}
	err := f.live.Get(ctx, client.ObjectKeyFromObject(cached), stored)
	if apierrors.IsNotFound(err) || err == nil && stored.ResourceVersion != cached.ResourceVersion {
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), cached.Name, err) // the cache is behind
	}
	if err != nil {
		return nil, fmt.Errorf("get ManifestWork %s/%s: %w", cached.Namespace, cached.Name, err)
	}
	return stored, nil
}

// application returns the cached Application, nil when the cache has none. It is
// borrowed from the cache.
func (f *gatherer) application(ctx context.Context, key client.ObjectKey) (*argocd.Application, error) {
	app := &argocd.Application{}
	err := f.client.Get(ctx, key, app, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Application %s: %w", key, err)
	}
	return app, nil
}

// groupOf returns the group that a work names.
func groupOf(work metav1.Object) decide.Group {
	app, _ := manifestcache.ClaimantOf(work)
	namespace, set, ok := contract.SplitKey(work.GetAnnotations()[contract.HostingAnnotation])
	if !ok || namespace != app.Namespace {
		set = ""
	}
	return decide.Group{Namespace: app.Namespace, Set: set}
}

// sooner returns the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
