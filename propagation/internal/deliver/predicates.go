// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"bytes"
	"maps"
	"slices"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// refreshChanged reports whether the hub may now show the result of a refresh (see
// [operations.endRefresh]).
func refreshChanged(before, after *argocd.Application) bool {
	return after.Annotations[argocd.RefreshAnnotation] != "" && !bytes.Equal(before.Status, after.Status)
}

// rivalChanged accepts changes of an Application that can change which identity another Application
// may have. [watcher.applicationChanged] accepts the changes for the Application itself.
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

// ourStatusChanged reports whether our conditions changed, which another controller may have
// edited, or a request to terminate an operation.
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
		return nil // the reconcile reports it
	}
	var ours []string
	for _, c := range conditions {
		if isOurCondition(c.Type) || isClaimCondition(c.Type) {
			ours = append(ours, c.Type+c.Message)
		}
	}
	return ours
}

// answered reports whether the agent may have reported about the request that the work carries.
func answered(before, after *manifestcache.Work) bool {
	switch id := after.Extra.Request; {
	case id == "":
		return false
	case request.IsRefresh(id): // the work keeps a refresh after it is done
		return before.Feedback(contract.FeedbackRefresh) != after.Feedback(contract.FeedbackRefresh)
	}
	return true
}

// clusterChanged accepts changes of a ManagedCluster that a decision depends on. A heartbeat is no
// such change.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return !ok || !ok2 || request.Silent(before) != request.Silent(after) ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			contract.IsHub(e.ObjectOld.GetName(), e.ObjectOld.GetLabels()) != contract.IsHub(e.ObjectNew.GetName(), e.ObjectNew.GetLabels()) ||
			e.ObjectOld.GetAnnotations()[contract.PausedAnnotation] != e.ObjectNew.GetAnnotations()[contract.PausedAnnotation] ||
			appcache.PauseClaim(before) != appcache.PauseClaim(after) ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	}}
}
