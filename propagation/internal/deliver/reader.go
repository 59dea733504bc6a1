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

// reader reads the objects that facts rest on. There is one over the caches and their indexes,
// and one over the API server. [readObject] reads single objects, of which both have the same
// parts. What cannot be read is an error.
type reader interface {
	getter
	Bound(ctx context.Context, namespace, cluster string) (binding, error)
	// Works returns the ManifestWorks of an Application; app is nil when it is gone.
	Works(ctx context.Context, key types.NamespacedName, app *argocd.Application) ([]foundWork, error)
	// Rivals returns who else wants, or delivers, what app wants to be on its cluster.
	Rivals(ctx context.Context, app *argocd.Application) (foundRivals, error)
	// Agent reports whether the hub's argocd-agent knows an agent of that name.
	Agent(ctx context.Context, name string) (bool, error)
}

// binding is what the PlacementDecisions of a namespace say about a cluster.
type binding struct {
	// Bound: one of them selects the cluster.
	Bound bool
	// Unread is when the youngest one without status was created, zero when each has a status.
	// Whether such a PlacementDecision selects the cluster is unknown.
	Unread time.Time
}

// foundWork is a ManifestWork that carries an Application.
type foundWork struct {
	*manifestcache.Work
	// Live is the work as the API server has it, nil from the cache.
	Live     *workv1.ManifestWork
	Relation decide.Relation
}

// foundRivals are the works that deliver an identity, and the Applications that want it.
type foundRivals struct {
	Copies       []*manifestcache.Work
	Applications []*argocd.Application
}

// ledger is what the deletion budget remembers. Neither an agent nor a tenant can write it.
type ledger interface {
	Note(work types.UID) decide.Note
	// GoneSince returns since when an Application is gone, zero for not known to be.
	GoneSince(app types.NamespacedName) time.Time
	// Outlives returns the hold or undo of an ApplicationSet that is gone, the zero Override for none.
	Outlives(set types.NamespacedName) (decide.Override, error)
}

// sources are what facts rest on beside the objects that a [reader] reads.
type sources struct {
	options   Options
	now       func() time.Time
	ledger    ledger
	refreshes *refreshes
	// naming returns the namespaces of the Applications on a cluster that name an AppProject.
	naming func(ctx context.Context, cluster, project string) ([]string, error)
}
