// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
)

const (
	fieldOwner = "multicluster-integrations-gitops"
	// debounce is the least time between two writes of one status.
	debounce = time.Second
)

// written is the last write of a status.
type written struct {
	at time.Time
	// wanted was sent. stored was returned, and has less if the schema belongs to another project.
	wanted, stored v1beta1.GitOpsClusterStatus
}

// statusWriter writes the statuses of GitOpsClusters. A single reconciler uses it, with a single
// worker.
type statusWriter struct {
	client   client.Client
	recorder events.EventRecorder
	wrote    map[types.NamespacedName]written
}

// write writes the status of facts, once for each change. after is the delay until the next check.
func (w *statusWriter) write(ctx context.Context, o *v1beta1.GitOpsCluster, facts intent.Facts, after time.Duration) (ctrl.Result, error) {
	now := time.Now()
	want := facts.Status(&o.Status, now)
	count(o, want.Clusters)
	last := w.wrote[key(o)]
	if equality.Semantic.DeepEqual(want, o.Status) || equality.Semantic.DeepEqual(want, last.wanted) && equality.Semantic.DeepEqual(o.Status, last.stored) {
		return ctrl.Result{RequeueAfter: after}, nil
	}
	if wait := debounce - now.Sub(last.at); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	before := o.DeepCopy()
	stamp := metav1.NewTime(now.Truncate(time.Second))
	o.Status = want
	o.Status.LastUpdateTime = &stamp
	if err := w.client.Status().Patch(ctx, o, client.MergeFrom(before), client.FieldOwner(fieldOwner)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("patch status of GitOpsCluster %s: %w", key(o), err))
	}
	want.LastUpdateTime = o.Status.LastUpdateTime
	w.wrote[key(o)] = written{at: now, wanted: want, stored: *o.Status.DeepCopy()}
	w.announce(ctx, before, o)
	return ctrl.Result{RequeueAfter: after}, nil
}

// announce logs, and records an Event, when a GitOpsCluster turns ready or is not ready
// for another reason.
func (w *statusWriter) announce(ctx context.Context, before, o *v1beta1.GitOpsCluster) {
	for _, kind := range ofApplicationsKinds {
		if c := meta.FindStatusCondition(o.Status.Conditions, kind); c != nil && meta.FindStatusCondition(before.Status.Conditions, kind) == nil {
			w.recorder.Eventf(o, nil, corev1.EventTypeWarning, kind, "Reconcile", "%s", c.Message)
		}
	}
	was, is := meta.FindStatusCondition(before.Status.Conditions, v1beta1.ConditionReady), meta.FindStatusCondition(o.Status.Conditions, v1beta1.ConditionReady)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	kind := corev1.EventTypeWarning
	switch {
	case is.Status == metav1.ConditionTrue:
		kind = corev1.EventTypeNormal
	case is.Reason == intent.ReasonRegistering || is.Reason == intent.ReasonDeleting || is.Reason == intent.ReasonDryRun:
		kind = corev1.EventTypeNormal // as requested
	}
	ctrl.LoggerFrom(ctx).Info("GitOpsCluster changed", "ready", is.Status, "reason", is.Reason, "message", is.Message)
	w.recorder.Eventf(o, nil, kind, is.Reason, "Reconcile", "%s", is.Message)
}

// forget drops the data that is kept about a deleted GitOpsCluster.
func (w *statusWriter) forget(owner types.NamespacedName) {
	delete(w.wrote, owner)
	clusterCounts.DeletePartialMatch(map[string]string{"namespace": owner.Namespace, "name": owner.Name})
}

func count(o *v1beta1.GitOpsCluster, c *v1beta1.ClusterCounts) {
	for state, n := range map[string]int{"selected": c.Selected, "registered": c.Registered, "leaving": c.Leaving, "taken": c.Taken} {
		clusterCounts.WithLabelValues(o.Namespace, o.Name, state).Set(float64(n))
	}
}
