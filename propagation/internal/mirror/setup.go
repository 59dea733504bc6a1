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

// Options are the settings of [Setup]. The zero value is valid.
type Options struct {
	// Concurrency is how many Applications are mirrored in parallel. The default is 20.
	Concurrency int
	// ApplyGrace is how long delivery may take to write a change, and then the agent to apply it,
	// before the change is shown as pending. Each usually takes a tenth of that. The default is
	// 500ms.
	ApplyGrace time.Duration
	// CompareGrace is how long a change stays pending after the agent has applied it, unless the
	// cluster reports something new earlier. The cluster's Argo CD is about to compare. It does not
	// report after some changes, for example of labels. A failure and an unavailable cluster stay
	// as long after their end. The default is 10s.
	CompareGrace time.Duration
	// InitialStatusTimeout is how long a new Application keeps its empty status before it is shown
	// as Unknown. It is longer if many Applications wait. Agents need some seconds. 0 does not
	// wait.
	InitialStatusTimeout time.Duration
	// Backoff decides when a failed Application is tried again. nil uses [boot.Backoff].
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

// Setup adds the controller to mgr. The scheme of mgr must have Applications, ManifestWorks and
// ManagedClusters. Its cache of ManifestWorks, to which index belongs, must use the transform of
// package manifestcache.
func Setup(_ context.Context, mgr ctrl.Manager, index *manifestcache.Index, options Options) error {
	options = options.withDefaults()
	r := &Reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), works: index.Of, options: options, now: time.Now}
	clusters := &clusterHandler{applications: index.On, lost: map[string]bool{}, comparisons: newComparisons(index)}
	comparing.Store(clusters.comparisons)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("mirror").
		For(&argocd.Application{}, builder.WithPredicates(applicationChanged)).
		Watches(&workv1.ManifestWork{}, workHandler(r, clusters.comparisons)).
		Watches(&clusterv1.ManagedCluster{}, clusters).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Concurrency, RateLimiter: options.Backoff}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up mirror: %w", err)
	}
	return nil
}
