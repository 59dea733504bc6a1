// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// reader reads the objects that facts rest on: [cacheReader] from the caches and their indexes, and
// [liveReader] from the API server. Both return the same parts of an object. If an object cannot be
// read, the result is an error.
type reader interface {
	getter
	Bound(ctx context.Context, namespace, cluster string) (bool, error)
	// Works returns the ManifestWorks of an Application. app is nil if it does not exist.
	Works(ctx context.Context, key types.NamespacedName, app *argocd.Application) ([]foundWork, error)
	// Rivals returns the other Applications that ask for app's identity, and the works that deliver
	// it.
	Rivals(ctx context.Context, app *argocd.Application) (foundRivals, error)
	// Agent reports whether the hub's argocd-agent has an agent of that name.
	Agent(ctx context.Context, name string) (bool, error)
}

// foundWork is a ManifestWork that carries an Application.
type foundWork struct {
	*manifestcache.Work
	// Live is the work from the API server. It is nil for a work from the cache.
	Live     *workv1.ManifestWork
	Relation decide.Relation
}

// foundRivals are the works that deliver an identity, and the Applications that ask for it.
type foundRivals struct {
	Copies       []*manifestcache.Work
	Applications []*argocd.Application
}

// ledger is the memory of the deletion budget. Neither an agent nor a tenant can write it.
type ledger interface {
	Note(work types.UID) decide.Note
	// GoneSince returns when an Application was first planned as deleted, or the zero time.
	GoneSince(app types.NamespacedName) time.Time
	// Outlives returns which annotations of a deleted ApplicationSet still have an effect, or nil.
	Outlives(set types.NamespacedName) (*decide.Annotations, error)
}

// sources are the other inputs of facts, in addition to the objects that a [reader] reads.
type sources struct {
	options   Options
	now       func() time.Time
	ledger    ledger
	refreshes *refreshes
	// naming returns the namespaces of the Applications on a cluster that name an AppProject.
	naming func(ctx context.Context, cluster, project string) ([]string, error)
}
