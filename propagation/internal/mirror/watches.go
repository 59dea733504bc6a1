// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// applicationChanged accepts changes of the target, of a status that another controller wrote, and
// of a spec that may not be delivered.
var applicationChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*argocd.Application)
		after, ok2 := e.ObjectNew.(*argocd.Application)
		return ok && ok2 && (!maps.Equal(before.Labels, after.Labels) ||
			!maps.Equal(before.Annotations, after.Annotations) ||
			!before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
			!bytes.Equal(before.Spec, after.Spec) ||
			!bytes.Equal(before.Status, after.Status))
	},
}

// workHandler enqueues the Application that a work carries, and records when feedback and comparisons
// were observed. A new generation is our own change and no feedback. Works of the first list enqueue nothing,
// because the first list of Applications does.
func workHandler(r *Reconciler, comparisons *comparisons) handler.EventHandler {
	wake := func(o client.Object, q queue) {
		if key, ok := manifestcache.ApplicationOf(o); ok {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				wake(e.Object, q)
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() {
				return // a resync
			}
			before, was := manifestcache.ApplicationOf(e.ObjectOld)
			after, is := manifestcache.ApplicationOf(e.ObjectNew)
			if was && before != after { // annotations name the Application, so a change concerns both
				wake(e.ObjectOld, q)
			}
			if is && e.ObjectOld.GetGeneration() == e.ObjectNew.GetGeneration() {
				r.memory.feedbackSeen(after, r.now())
			}
			comparisons.observe(e.ObjectOld, e.ObjectNew)
			wake(e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(e.Object, q) },
	}
}

// clusterHandler enqueues all Applications of a cluster when it becomes unreachable or reachable,
// and counts the unreachable ones.
type clusterHandler struct {
	applications func(cluster string) ([]types.NamespacedName, error)
	// lost needs no lock, because an informer calls a handler with one event at a time.
	lost        map[string]bool
	comparisons *comparisons
}

var _ handler.EventHandler = &clusterHandler{}

// Create counts the cluster. A cluster of the first list enqueues nothing, as with works.
func (h *clusterHandler) Create(ctx context.Context, e event.CreateEvent, q queue) {
	h.count(e.Object, false)
	if !e.IsInInitialList {
		h.wake(ctx, e.Object.GetName(), q)
	}
}

// Update enqueues if a field changes that an observation depends on.
func (h *clusterHandler) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	h.count(e.ObjectNew, false)
	before, after := clusterOf(e.ObjectOld), clusterOf(e.ObjectNew)
	silent := before.Available && after.Available // then an observation does not mention it
	if !silent && (before.Available != after.Available || !before.Since.Equal(after.Since) || before.Message != after.Message) {
		h.wake(ctx, e.ObjectNew.GetName(), q)
	}
}

// Delete enqueues the Applications that were delivered there.
func (h *clusterHandler) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	h.count(e.Object, true)
	h.wake(ctx, e.Object.GetName(), q)
}

// Generic is not used.
func (h *clusterHandler) Generic(context.Context, event.GenericEvent, queue) {}

func (h *clusterHandler) count(o client.Object, gone bool) {
	cluster, ok := o.(*clusterv1.ManagedCluster)
	available := clusterOf(o).Available
	h.comparisons.expect(o.GetName(), available && !gone)
	if ok && !gone && cluster.Spec.HubAcceptsClient && !available {
		h.lost[o.GetName()] = true
	} else {
		delete(h.lost, o.GetName())
	}
	clustersStale.Set(float64(len(h.lost)))
}

func (h *clusterHandler) wake(ctx context.Context, cluster string, q queue) {
	keys, err := h.applications(cluster)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot enqueue the Applications of a cluster", "cluster", cluster)
	}
	for _, key := range keys {
		q.Add(reconcile.Request{NamespacedName: key})
	}
}

func clusterOf(o client.Object) status.Cluster {
	cluster, _ := o.(*clusterv1.ManagedCluster)
	return status.ClusterOf(o.GetName(), cluster)
}
