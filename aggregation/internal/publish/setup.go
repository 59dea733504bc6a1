// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/index"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/prune"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// Options of [Setup].
type Options struct {
	// SizeLimit bounds a report, in bytes as the API server stores it.
	SizeLimit int
	// Queue gets the changes of the index.
	Queue *Queue
	// Index has the content of the reports.
	Index *index.Index
	// WaitForSync returns once the index has all that was there at start.
	WaitForSync func(context.Context) error
	// Pruner removes the reports of deleted ApplicationSets.
	Pruner *prune.Pruner
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
		pruner:  o.Pruner,
		store:   o.Store,
		pacer:   o.Queue.pacer,
		limit:   o.SizeLimit,
		tracker: newTracker(),
		recorder: recorder{
			events: mgr.GetEventRecorder("multicluster-integrations-aggregation"),
			pacer:  o.Queue.pacer,
			limit:  o.SizeLimit,
		},
	}
	c, err := controller.New("report", mgr, controllerOptions(r))
	if err != nil {
		return fmt.Errorf("create the report controller: %w", err)
	}
	return c.Watch(&eventSource{reconciler: r, cache: mgr.GetCache(), queue: o.Queue, waitForSync: o.WaitForSync})
}

func controllerOptions(r *Reconciler) controller.Options {
	return controller.Options{
		Reconciler:              r,
		MaxConcurrentReconciles: 2,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost),
		SkipNameValidation:      ptr.To(true), // a test runs a leader and a standby in one process
	}
}

// eventSource is the controller's source: the index, the ApplicationSets and the
// reports. It starts when this process leads.
type eventSource struct {
	reconciler  *Reconciler
	cache       cache.Cache
	queue       *Queue
	waitForSync func(context.Context) error

	synced []toolscache.InformerSynced
}

// Start enqueues every ApplicationSet and report once, and then those that change.
func (t *eventSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	t.queue.open(queue)
	return errors.Join(
		t.follow(ctx, argocd.ApplicationSetMetadata(), toolscache.ResourceEventHandlerFuncs{
			AddFunc:    t.enqueue,
			DeleteFunc: t.enqueue,
		}),
		t.follow(ctx, Metadata(), toolscache.ResourceEventHandlerFuncs{
			AddFunc:    t.enqueue,
			UpdateFunc: func(_, object any) { t.enqueue(object) },
			DeleteFunc: func(object any) {
				if key, ok := keyOf(object); ok {
					t.reconciler.tracker.recordDeletion(key, uidOf(object))
				}
				t.enqueue(object)
			},
		}),
	)
}

// WaitForSync holds the first write back until nothing is missing.
func (t *eventSource) WaitForSync(ctx context.Context) error {
	if !toolscache.WaitForCacheSync(ctx.Done(), t.synced...) {
		return fmt.Errorf("wait for ApplicationSets and reports: %w", context.Cause(ctx))
	}
	return t.waitForSync(ctx)
}

func (t *eventSource) follow(ctx context.Context, of client.Object, h toolscache.ResourceEventHandler) error {
	informer, err := t.cache.GetInformer(ctx, of)
	if err != nil {
		return fmt.Errorf("watch %s: %w", of.GetObjectKind().GroupVersionKind().Kind, err)
	}
	registration, err := informer.AddEventHandler(h)
	if err != nil {
		return fmt.Errorf("watch %s: %w", of.GetObjectKind().GroupVersionKind().Kind, err)
	}
	t.synced = append(t.synced, registration.HasSynced)
	return nil
}

func (t *eventSource) enqueue(object any) {
	if key, ok := keyOf(object); ok {
		t.queue.enqueue(key)
	}
}

func keyOf(object any) (key types.NamespacedName, ok bool) {
	s, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return key, false
	}
	key.Namespace, key.Name, err = toolscache.SplitMetaNamespaceKey(s)
	return key, err == nil
}

// uidOf returns the UID of a deleted object, if the informer has it.
func uidOf(object any) types.UID {
	if last, lost := object.(toolscache.DeletedFinalStateUnknown); lost {
		object = last.Obj
	}
	o, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return o.GetUID()
}
