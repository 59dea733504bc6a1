// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"cmp"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// operationError is search's name for the message of an operation that failed.
// Argo CD has no such condition type.
const operationError = "OperationError"

// conditions returns what both sources say about an Application, sorted. Feedback
// is pushed within milliseconds and search polled every ten seconds, if it answers at
// all: where the managed cluster reports, feedback alone decides about the types that
// it carries, and search tells the rest.
func conditions(a App, search []v1alpha1.Condition) []v1alpha1.Condition {
	all := slices.Clone(a.Conditions)
	if failed := a.OperationPhase == argocd.OperationFailed || a.OperationPhase == argocd.OperationError; failed && a.OperationMessage != "" && !settled(a) {
		all = add(all, v1alpha1.Condition{Type: operationError, Message: a.OperationMessage})
	}
	for _, c := range search {
		if a.Reported && slices.Contains(contract.ConditionTypes, c.Type) || c.Type == operationError && operationOver(a) {
			continue
		}
		all = add(all, c)
	}
	all = slices.DeleteFunc(all, func(c v1alpha1.Condition) bool {
		return c.Type == operationError && repeated(c.Message, all)
	})
	slices.SortFunc(all, func(x, y v1alpha1.Condition) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Message, y.Message))
	})
	return all
}

// add appends c unless its type is there already: both sources report the first
// message of a type, search's cut at 512 characters.
func add(all []v1alpha1.Condition, c v1alpha1.Condition) []v1alpha1.Condition {
	for i := range all {
		if all[i].Type == c.Type {
			return all
		}
	}
	return append(all, c)
}

func settled(a App) bool { return a.Health == argocd.HealthHealthy && a.Sync == argocd.SyncSynced }

// operationOver reports whether newer feedback contradicts an operation error that
// search still remembers: Argo CD never shows one beside a healthy, synced Application
// nor beside an operation that succeeded.
func operationOver(a App) bool { return settled(a) || a.OperationPhase == argocd.OperationSucceeded }

// repeated reports whether another condition already tells the reason of an
// operation error. Argo CD copies the operation's message into SyncError with a
// text before and after it, and search cuts both.
func repeated(message string, all []v1alpha1.Condition) bool {
	text := core(message)
	if text == "" {
		return true
	}
	for _, c := range all {
		if c.Type == operationError {
			continue
		}
		if strings.Contains(c.Message, text) {
			return true
		}
		if other := core(c.Message); cut(c.Message) && other != "" && strings.HasPrefix(text, other) {
			return true
		}
	}
	return false
}

// core strips a message to its reason: what follows the first "reason: ", without
// the count of retries and without the mark of a cut.
func core(message string) string {
	s := message
	if _, reason, ok := strings.Cut(s, "reason: "); ok {
		s = reason
	}
	s = strings.TrimSuffix(strings.TrimSpace(s), "...")
	if i := strings.LastIndex(s, " (retried "); i >= 0 && strings.HasSuffix(strings.TrimRight(s, "."), " times)") {
		s = s[:i]
	}
	return strings.TrimRight(strings.TrimSpace(s), ".")
}

func cut(message string) bool { return strings.HasSuffix(message, "...") }
