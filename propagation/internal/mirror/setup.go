// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

const fieldOwner = "multicluster-integrations-mirror"

// Options of [Setup]. The zero value works.
type Options struct {
	// Concurrency is how many Applications are mirrored at a time; default 20.
	Concurrency int
	// ApplyGrace is how long delivery may take to write a change, and then the agent to
	// apply it, before the Application is shown as waiting for it; default 500ms. Either
	// takes a tenth of that.
	ApplyGrace time.Duration
	// CompareGrace is how long an Application that was shown as waiting for its agent stays
	// so once the agent has applied the change, unless the cluster says something new before;
	// default 10s. Its Argo CD is about to compare. To a change that it has no answer to,
	// such as one of labels, it says nothing.
	CompareGrace time.Duration
	// InitialStatusTimeout is how long a new Application keeps its empty status before it
	// is called Unknown, and longer where many wait for theirs; 0: not at all. Agents need
	// some seconds.
	InitialStatusTimeout time.Duration
	// Backoff decides when a failed Application is tried again; nil: [boot.Backoff].
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

func (o Options) withDefaults() Options {
	if o.Concurrency == 0 {
		o.Concurrency = 20
	}
	if o.ApplyGrace == 0 {
		o.ApplyGrace = 500 * time.Millisecond
	}
	if o.CompareGrace == 0 {
		o.CompareGrace = 10 * time.Second
	}
	if o.Backoff == nil {
		o.Backoff = boot.Backoff()
	}
	return o
}

// Setup adds the controller to mgr, whose scheme must know Applications,
// ManifestWorks and ManagedClusters. Its cache of ManifestWorks, of which index is, has
// package manifestcache's transform.
func Setup(_ context.Context, mgr ctrl.Manager, index *manifestcache.Index, options Options) error {
	options = options.withDefaults()
	r := &Reconciler{client: mgr.GetClient(), works: index.Of, options: options, now: time.Now}
	clusters := &clusterHandler{applications: index.On, lost: map[string]bool{}}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("mirror").
		For(&argocd.Application{}, builder.WithPredicates(applicationChanged)).
		Watches(&workv1.ManifestWork{}, workHandler(r)).
		Watches(&clusterv1.ManagedCluster{}, clusters).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Concurrency, RateLimiter: options.Backoff}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up mirror: %w", err)
	}
	return nil
}
