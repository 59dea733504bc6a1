// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/index"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// Options are the options of [Setup].
type Options struct {
	// SizeLimit bounds a report, in bytes as the API server stores it.
	SizeLimit int
	// Queue gets the changes of the index.
	Queue *Queue
	// Index has the content of the reports.
	Index *index.Index
	// WaitForSync returns once the index has all that was there at start.
	WaitForSync func(context.Context) error
	// Store has the intermediate reports.
	Store *intermediate.Store
}

// NewClient makes the client that the manager is meant to have: it writes reports
// without having the API server send them back.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	return slim.NewClient(config, options, v1alpha1.GroupVersion.WithKind(reportKind))
}

// Setup adds the controller that writes reports while this process leads.
func Setup(mgr ctrl.Manager, o Options) error {
	r := &Reconciler{
		cached:  mgr.GetCache(),
		live:    mgr.GetAPIReader(),
		writer:  mgr.GetClient(),
		index:   o.Index,
		store:   o.Store,
		pacer:   o.Queue.pacer,
		limit:   o.SizeLimit,
		tracker: newTracker(),
		behind:  boot.Backoff(),
		recorder: recorder{
			events: mgr.GetEventRecorder("multicluster-integrations-aggregation"),
			pacer:  o.Queue.pacer,
			limit:  o.SizeLimit,
		},
	}
	news := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	// The deletion is recorded here, because a request does not carry the UID of the deleted
	// report.
	deletions := predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		r.tracker.recordDeletion(client.ObjectKeyFromObject(e.Object), e.Object.GetUID())
		return true
	}}
	err := ctrl.NewControllerManagedBy(mgr).Named("report").
		Watches(argocd.ApplicationSetMetadata(), &handler.EnqueueRequestForObject{}, builder.WithPredicates(news)).
		Watches(Metadata(), &handler.EnqueueRequestForObject{}, builder.WithPredicates(deletions)).
		WatchesRawSource(&indexSource{queue: o.Queue, waitForSync: o.WaitForSync}).
		WithOptions(controllerOptions()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("create the report controller: %w", err)
	}
	return nil
}

func controllerOptions() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: 2,
		RateLimiter:             boot.Backoff(),
		SkipNameValidation:      ptr.To(true), // a test runs a leader and a standby in one process
	}
}

// indexSource is the controller's source of changes of the index, once this process leads.
type indexSource struct {
	queue       *Queue
	waitForSync func(context.Context) error
}

// Start connects the index's queue with the controller's queue, and returns at once.
func (s *indexSource) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.queue.open(queue)
	return nil
}

// WaitForSync holds the first write back until the index has all that was there at start.
func (s *indexSource) WaitForSync(ctx context.Context) error { return s.waitForSync(ctx) }
