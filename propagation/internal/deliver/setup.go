// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=appprojects,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// newReconciler returns the Reconciler and the watcher that maps changes to Applications.
func newReconciler(c clients, recorder events.EventRecorder) (*Reconciler, *watcher) {
	recorder = boundedEvents{recorder}
	timing := &tracker{}
	requests := &operations{client: c.client, live: c.live, now: c.now}
	cached := &cacheReader{cache: c.client, index: c.index, direct: c.live, options: c.options}
	r := &Reconciler{
		facts:  &sources{options: c.options, now: c.now, refreshes: &requests.refreshes, naming: namespacesNaming(c.client)},
		cached: cached, live: &liveReader{api: c.live, cache: cached}, sweeper: newSweeper(c),
	}
	r.applier = &applier{writer: &writer{client: c.client, live: c.live, options: c.options, now: c.now, tracker: timing}, requests: requests, reporter: &reporter{client: c.client, now: c.now, events: recorder, tracker: timing}}
	r.budget = budget.New(c.client, c.live, recorder, budget.Options{
		Settings: c.options.Withdrawals, Grace: c.options.BindingGrace, Namespace: c.options.HubNamespace, Prepare: r.prepare, OnCluster: r.sweeper.onCluster,
	})
	r.facts.ledger = r.budget
	return r, &watcher{client: c.client, index: c.index, options: c.options, now: c.now, reporter: r.applier.reporter, sweeper: r.sweeper, tracker: timing, budget: r.budget}
}

// Setup adds delivery to mgr. index must belong to the cache of mgr.
func Setup(ctx context.Context, mgr ctrl.Manager, index *manifestcache.Index, options Options) error {
	err := errors.Join(addIndexes(ctx, mgr.GetFieldIndexer(), options.ArgoCDNamespace), addAgentIndexes(ctx, mgr.GetFieldIndexer(), options), appcache.ReleaseSpecs(ctx, mgr.GetCache()))
	if err != nil {
		return err
	}
	c := clients{client: mgr.GetClient(), live: slim.Reader(mgr.GetAPIReader()), index: index, options: options, now: time.Now}
	r, w := newReconciler(c, mgr.GetEventRecorder("propagation"))
	if err := w.watch(ctx, mgr, r); err != nil {
		return err
	}
	if err := mgr.Add(r.budget); err != nil {
		return fmt.Errorf("add the budget: %w", err)
	}
	return nil
}
