// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// remembers is how long an earlier report counts after search has reported.
const remembers = 15 * time.Minute

// staleAfter is how long search may report nothing until the rows of an earlier report show its age. A new
// resourcesync writes its first files sooner if search answers.
const staleAfter = 2 * time.Minute

// memory is the report that this process found when it first read the ApplicationSet.
type memory struct {
	resources merge.ResourceList
	rows      map[string]v1alpha1.ClusterCondition // by App
	// since is when the report was found, as RFC 3339. It is empty until the rows show it.
	since string
}

func newMemory(report *v1alpha1.AppSetStatuses) *memory {
	m := &memory{
		resources: merge.Resources(slices.Clone(report.Resources)),
		rows:      make(map[string]v1alpha1.ClusterCondition, len(report.ClusterConditions)),
	}
	for _, row := range report.ClusterConditions {
		m.rows[row.App] = row
	}
	return m
}

// fromSearch reports whether it has values that only search can have found. An operation error may come
// from feedback.
func (m *memory) fromSearch() bool {
	if len(m.resources.Refs()) > 0 {
		return true
	}
	for _, row := range m.rows {
		if row.StaleSince != "" || slices.ContainsFunc(row.Conditions, func(c v1alpha1.Condition) bool {
			return c.Type != status.OperationError && !fromFeedback(c.Type)
		}) {
			return true
		}
	}
	return false
}

// recall fills in the operation that feedback may be missing for a moment.
func (m *memory) recall(app string, previous *status.Observation) {
	row := m.rows[app]
	previous.Operation = contract.OperationFeedback{Phase: row.OperationStatePhase, StartedAt: row.OperationStateStartedAt}
	previous.Revision, previous.Revisions = row.SyncRevision, row.SyncRevisions
}

// search returns the values that only search can have found about an Application: since when it is
// stale, and conditions. It returns them as long as nothing else about the Application changes,
// because new feedback is newer.
func (m *memory) search(now *merge.Row) merge.Search {
	old := m.rows[now.App]
	s := merge.Search{StaleSince: cmp.Or(old.StaleSince, m.since)}
	if old.HealthStatus != now.HealthStatus || old.SyncStatus != now.SyncStatus || old.SyncRevision != now.SyncRevision ||
		!slices.Equal(old.SyncRevisions, now.SyncRevisions) ||
		old.OperationStatePhase != now.OperationStatePhase || old.OperationStateStartedAt != now.OperationStateStartedAt {
		return s
	}
	for _, c := range old.Conditions {
		if !fromFeedback(c.Type) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	return s
}

// fromFeedback reports whether feedback alone decides about a type of condition.
func fromFeedback(conditionType string) bool {
	return slices.Contains(ownReasons, status.Reason(conditionType)) || status.FromFeedback(conditionType)
}

var ownReasons = []status.Reason{status.ClusterUnreachable, status.ApplyFailed, status.ApplicationUnreadable}
