// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Healths, Syncs and Phases are the values of a row, the worst first. A row without an
// operation has the phase [NoPhase].
var (
	Healths = []string{
		argocd.HealthDegraded, argocd.HealthMissing, argocd.HealthUnknown,
		argocd.HealthProgressing, argocd.HealthSuspended, argocd.HealthHealthy,
	}
	Syncs  = []string{argocd.SyncOutOfSync, argocd.SyncUnknown, argocd.SyncSynced}
	Phases = []string{
		argocd.OperationError, argocd.OperationFailed, argocd.OperationTerminating,
		argocd.OperationRunning, argocd.OperationSucceeded, NoPhase,
	}
)

// NoPhase is the phase of a row if its Application has had no operation.
const NoPhase = "None"

// Unreachable is the condition type of an Application if its cluster does not report.
const Unreachable = string(status.ClusterUnreachable) + "Warning"

// OneOf returns value if it is in values, else otherwise.
func OneOf(values []string, value, otherwise string) string {
	if slices.Contains(values, value) {
		return value
	}
	return otherwise
}

// Operation returns one of [Phases].
func Operation(a *App) string { return OneOf(Phases, a.Phase, NoPhase) }

// Running reports whether an operation is running.
func Running(a *App) bool {
	return a.Phase == argocd.OperationRunning || a.Phase == argocd.OperationTerminating
}

// ranks is the number of values of [rank].
const ranks = 9

// rank orders rows from the worst: broken, possibly broken, changing, healthy.
func rank(a *App) int {
	switch a.Health {
	case argocd.HealthDegraded:
		return 0
	case argocd.HealthMissing:
		return 1
	case argocd.HealthUnknown:
		if a.Stale {
			return 3
		}
		return 2
	}
	switch healthy := a.Health == argocd.HealthHealthy; {
	case argocd.HasFailed(a.Phase) || faulty(a):
		return 4
	case a.Health == argocd.HealthProgressing:
		return 5
	case a.Sync != argocd.SyncSynced:
		return 6
	case !healthy:
		return 7
	}
	return ranks - 1
}

func faulty(a *App) bool {
	for i := range a.Conditions {
		if !IsWarning(a.Conditions[i].Type) {
			return true
		}
	}
	return false
}

// IsWarning reports whether a condition type is a warning. Argo CD's rule applies, except for a
// cluster that does not report.
func IsWarning(conditionType string) bool {
	return strings.HasSuffix(conditionType, "Warning") && conditionType != Unreachable
}
