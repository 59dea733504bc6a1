// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// applicationChanged lets through what can change a decision or a payload, and
// notes when it was seen. A status that others write is neither.
func (wa *watcher) applicationChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			if !e.IsInInitialList && e.Object.GetLabels()[contract.PullLabel] != "" {
				wa.tracker.note(client.ObjectKeyFromObject(e.Object), wa.now())
			}
			return true
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*argocd.Application)
			after, ok2 := e.ObjectNew.(*argocd.Application)
			if !ok || !ok2 {
				return true
			}
			wished := desiredChanged(before, after)
			if wished && after.Labels[contract.PullLabel] != "" {
				wa.tracker.note(client.ObjectKeyFromObject(after), wa.now())
			}
			return wished || ourStatusChanged(before, after) || refreshSays(before, after)
		},
	}
}

// refreshSays: what a refresh has found may be on the hub, see [Reconciler.endRefresh].
func refreshSays(before, after *argocd.Application) bool {
	return after.Annotations[argocd.RefreshAnnotation] != "" && !bytes.Equal(before.Status, after.Status)
}

// rivalChanged lets through what can change whether another Application may have
// what this one has; what it does itself it hears by [Reconciler.applicationChanged].
func rivalChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*argocd.Application)
		after, ok2 := e.ObjectNew.(*argocd.Application)
		return !ok || !ok2 || desiredChanged(before, after) || ourStatusChanged(before, after)
	}}
}

func desiredChanged(before, after *argocd.Application) bool {
	return before.UID != after.UID ||
		!bytes.Equal(before.Spec, after.Spec) ||
		!bytes.Equal(before.Operation, after.Operation) ||
		!maps.Equal(before.Labels, after.Labels) ||
		!maps.Equal(before.Annotations, after.Annotations) ||
		!slices.Equal(before.Finalizers, after.Finalizers) ||
		before.OwningApplicationSet() != after.OwningApplicationSet() ||
		!before.DeletionTimestamp.Equal(after.DeletionTimestamp)
}

// ourStatusChanged: our conditions, which another controller may have edited, or the
// wish to end an operation.
func ourStatusChanged(before, after *argocd.Application) bool {
	if bytes.Equal(before.Status, after.Status) || !concernsUs(before.Status) && !concernsUs(after.Status) {
		return false
	}
	return request.Terminating(before) != request.Terminating(after) || !slices.Equal(ourConditions(before), ourConditions(after))
}

func concernsUs(status []byte) bool {
	return bytes.Contains(status, []byte("PullDelivery")) || bytes.Contains(status, []byte(argocd.OperationTerminating))
}

func ourConditions(app *argocd.Application) []string {
	conditions, err := appstatus.Conditions(app.Status)
	if err != nil {
		return nil // whoever reads it next says so
	}
	var ours []string
	for _, c := range conditions {
		if isOurCondition(c.Type) || isClaimCondition(c.Type) {
			ours = append(ours, c.Type+c.Message)
		}
	}
	return ours
}

// workChanged lets through what tells us to write, to go on or to let go, and notes
// when the agent has applied it. Plain feedback is the mirror's.
func (wa *watcher) workChanged(ctx context.Context) predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool {
		if app, named := manifestcache.ClaimantOf(e.Object); named {
			wa.unlabelled.forget(app, client.ObjectKeyFromObject(e.Object))
		}
		return true
	}, DeleteFunc: func(e event.DeleteEvent) bool {
		if app, named := manifestcache.ClaimantOf(e.Object); named && e.Object.GetDeletionTimestamp() == nil {
			wa.unlabelled.note(app, client.ObjectKeyFromObject(e.Object))
		}
		return true
	}, UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*manifestcache.Work)
		after, ok2 := e.ObjectNew.(*manifestcache.Work)
		if !ok || !ok2 {
			return true
		}
		if app, ours := after.Application(); ours && !before.Applied() && after.Applied() {
			wa.tracker.applied(app, wa.now())
			if after.Stays() || wa.index.Several(app) || wa.ends(ctx, app) {
				return true // it, or the others, may go now
			}
		}
		// What is only read, or was not to be taken over, is spoken of.
		if after.Observed() || before.Refusal() != after.Refusal() {
			return true
		}
		return answered(before, after) || before.Generation != after.Generation || !before.SameMetadata(after)
	}}
}

// ends reports whether an Application is gone, on its way out, or not pulled any more.
func (wa *watcher) ends(ctx context.Context, key client.ObjectKey) bool {
	app, err := wa.application(ctx, key) // from the cache
	return err == nil && (app == nil || app.DeletionTimestamp != nil || !contract.IsPulled(app.Labels))
}

// answered: the agent may have said something of the request that the work carries.
func answered(before, after *manifestcache.Work) bool {
	switch id := after.Request(); {
	case id == "":
		return false
	case request.IsRefresh(id): // which stays in the work when it has been
		return before.Said(contract.FeedbackRequest) != after.Said(contract.FeedbackRequest) ||
			before.Said(contract.FeedbackRefresh) != after.Said(contract.FeedbackRefresh)
	}
	return true
}

// appliedAt returns the status of the condition Applied at a work's generation, empty while
// its agent has not reported on that.
func appliedAt(work *workv1.ManifestWork) metav1.ConditionStatus {
	c := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if c == nil || c.ObservedGeneration < work.Generation {
		return ""
	}
	return c.Status
}

// clusterChanged lets through what a decision reads of a cluster; its heartbeat is
// not among it.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return !ok || !ok2 || request.Silent(before) != request.Silent(after) ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			contract.IsHub(e.ObjectOld.GetName(), e.ObjectOld.GetLabels()) != contract.IsHub(e.ObjectNew.GetName(), e.ObjectNew.GetLabels()) ||
			e.ObjectOld.GetAnnotations()[contract.PauseAnnotation] != e.ObjectNew.GetAnnotations()[contract.PauseAnnotation] ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	}}
}
