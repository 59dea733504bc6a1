// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// feedbackSynced is the agent's condition about the feedback.
const feedbackSynced = "StatusFeedbackSynced"

// bounded returns the conditions of the given types, each once and with limited texts.
func bounded(conditions []metav1.Condition, rejected *contract.Rejected, types ...string) []metav1.Condition {
	conditions = contract.Clip(conditions, contract.MaxConditions, rejected)
	var kept []metav1.Condition
	for _, t := range types {
		if c := condition(conditions, t); c != nil {
			bounded := metav1.Condition{Type: t, Status: c.Status, ObservedGeneration: c.ObservedGeneration, LastTransitionTime: c.LastTransitionTime}
			if c.Status != metav1.ConditionTrue { // messages only show the reason of conditions that are not true
				bounded.Reason, bounded.Message = contract.Token(c.Reason, rejected), contract.Message(c.Message, rejected)
			}
			kept = append(kept, bounded)
		}
	}
	return kept
}

// condition returns the first condition of a type among the conditions that are read.
func condition(conditions []metav1.Condition, conditionType string) *metav1.Condition {
	conditions = contract.Clip(conditions, contract.MaxConditions, &contract.Rejected{})
	i := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == conditionType })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

// applyFailure returns the agent's condition if it could not apply a manifest, or nil.
func applyFailure(m *workv1.ManifestCondition) *metav1.Condition {
	if c := condition(m.Conditions, workv1.ManifestApplied); c != nil && c.Status == metav1.ConditionFalse {
		return c
	}
	return nil
}

func isApplication(r *workv1.ManifestResourceMeta) bool {
	return r.Group == argocd.Group && r.Resource == argocd.ApplicationPlural
}
