// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"cmp"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// conditions returns the conditions of an Application from both sources, sorted. Feedback arrives
// within milliseconds. Search is polled every ten seconds and may not answer. If the managed
// cluster reports, feedback alone decides about the types that it carries, and search about the
// others.
func conditions(a App, search []v1alpha1.Condition) []v1alpha1.Condition {
	all := slices.Clone(a.Conditions)
	if argocd.HasFailed(a.OperationPhase) && a.OperationMessage != "" && !healthyAndSynced(a) {
		all = addType(all, v1alpha1.Condition{Type: status.OperationError, Message: a.OperationMessage})
	}
	for _, c := range search {
		if a.Reported && status.FromFeedback(c.Type) || c.Type == status.OperationError && contradictsOperationError(a) {
			continue
		}
		all = addType(all, c)
	}
	every := slices.Clone(all) // DeleteFunc changes its argument
	all = slices.DeleteFunc(all, func(c v1alpha1.Condition) bool {
		return c.Type == status.OperationError && slices.ContainsFunc(every, func(other v1alpha1.Condition) bool {
			return status.RepeatsOperationError(c.Message, contract.Condition(other))
		})
	})
	slices.SortFunc(all, func(x, y v1alpha1.Condition) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Message, y.Message))
	})
	return all
}

// addType appends c unless all already has its type. Both sources report the first message of a
// type. The message from search is cut at 512 characters.
func addType(all []v1alpha1.Condition, c v1alpha1.Condition) []v1alpha1.Condition {
	for i := range all {
		if all[i].Type == c.Type {
			return all
		}
	}
	return append(all, c)
}

func healthyAndSynced(a App) bool {
	return a.Health == argocd.HealthHealthy && a.Sync == argocd.SyncSynced
}

// contradictsOperationError reports whether newer feedback contradicts an operation error that
// search still has. Argo CD never shows one on a healthy, synced Application, nor after a
// successful operation.
func contradictsOperationError(a App) bool {
	return healthyAndSynced(a) || a.OperationPhase == argocd.OperationSucceeded
}
