// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=appprojects,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// newWatcher returns what leads changes to r.
func newWatcher(r *Reconciler) *watcher {
	return &watcher{gatherer: r.gatherer, identities: r.identities, reporter: r.reporter, sweeper: r.sweeper, tracker: r.reporter.tracker}
}

// Setup adds delivery to mgr, of whose cache index is.
func Setup(ctx context.Context, mgr ctrl.Manager, index *manifestcache.Index, options Options) error {
	err := errors.Join(addIndexes(ctx, mgr.GetFieldIndexer(), options.ArgoCDNamespace), addAgentIndexes(ctx, mgr.GetFieldIndexer(), options), appcache.ReleaseSpecs(ctx, mgr.GetCache()))
	if err != nil {
		return err
	}
	g := &gatherer{client: mgr.GetClient(), live: mgr.GetAPIReader(), index: index, options: options, now: time.Now}
	recorder := mgr.GetEventRecorder("propagation")
	r := newReconciler(g, recorder)
	g.budget = &noted{index: index, uncached: r.lostApplications, now: time.Now, plans: map[types.NamespacedName]*notedPlan{}, failing: map[types.NamespacedName]time.Time{}}
	g.budget.Budget = budget.New(g.client, g.live, recorder, budget.Options{
		Settings: options.Withdrawals, Grace: options.BindingGrace, Namespace: options.HubNamespace, Prepare: g.budget.unreconciled, OnCluster: g.budget.onCluster,
	})
	if err := newWatcher(r).watch(ctx, mgr, r); err != nil {
		return err
	}
	if err := mgr.Add(g.budget); err != nil {
		return fmt.Errorf("add the budget: %w", err)
	}
	return nil
}
