// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
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

// NoPhase is the phase of a row whose Application has had no operation.
const NoPhase = "None"

// Health returns one of [Healths]: what a row says that is none of them is Unknown.
func Health(r *merge.Row) string { return oneOf(Healths, r.HealthStatus, argocd.HealthUnknown) }

// Sync returns one of [Syncs].
func Sync(r *merge.Row) string { return oneOf(Syncs, r.SyncStatus, argocd.SyncUnknown) }

// Phase returns one of [Phases].
func Phase(r *merge.Row) string { return oneOf(Phases, r.OperationStatePhase, NoPhase) }

func oneOf(values []string, value, otherwise string) string {
	for _, v := range values {
		if v == value {
			return v
		}
	}
	return otherwise
}

// Stale reports whether the cluster of a row does not report, so that what it last wrote
// counts no longer.
func Stale(r *merge.Row) bool {
	for i := range r.Conditions {
		if r.Conditions[i].Type == string(status.ClusterUnreachable) {
			return true
		}
	}
	return false
}

// Running reports whether an operation is under way.
func Running(r *merge.Row) bool {
	return r.OperationStatePhase == argocd.OperationRunning || r.OperationStatePhase == argocd.OperationTerminating
}

// Failed reports whether the last operation came to nothing.
func Failed(r *merge.Row) bool {
	return argocd.HasFailed(r.OperationStatePhase)
}

// ranks is how many values [rank] has.
const ranks = 9

// rank orders rows, the worst first: what is broken, what may be, what is on its way,
// what is well.
func rank(r *merge.Row) int {
	switch Health(r) {
	case argocd.HealthDegraded:
		return 0
	case argocd.HealthMissing:
		return 1
	case argocd.HealthUnknown:
		if Stale(r) {
			return 3
		}
		return 2
	}
	switch healthy := Health(r) == argocd.HealthHealthy; {
	case Failed(r) || faulty(r):
		return 4
	case Health(r) == argocd.HealthProgressing:
		return 5
	case Sync(r) != argocd.SyncSynced:
		return 6
	case !healthy:
		return 7
	}
	return ranks - 1
}

func faulty(r *merge.Row) bool {
	for i := range r.Conditions {
		if !IsWarning(r.Conditions[i].Type) {
			return true
		}
	}
	return false
}

// IsWarning reports whether a condition of a type is a warning only, by Argo CD's rule.
func IsWarning(conditionType string) bool { return strings.HasSuffix(conditionType, "Warning") }

// Identity is where a row's objects are, from its field app.
type Identity struct{ Namespace, Name, Cluster, Work string }

// IdentityOf returns what a row is about.
func IdentityOf(r *merge.Row) Identity {
	parts := strings.SplitN(r.App, "/", 4)
	parts = append(parts, make([]string, 4-len(parts))...)
	return Identity{parts[0], parts[1], parts[2], parts[3]}
}
