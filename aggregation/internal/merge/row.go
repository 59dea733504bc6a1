// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"cmp"
	"encoding/json"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// Row is one row of a report. It never changes after [NewRow], so equal pointers are equal rows. A
// caller that keeps rows can find changes without comparing fields.
type Row struct {
	v1alpha1.ClusterCondition

	bytes int // of the row as JSON
}

// NewRow returns the row of an Application. search has the findings of the intermediate report
// about it.
func NewRow(a App, search Search) *Row {
	return newRow(v1alpha1.ClusterCondition{
		Cluster:                 a.Cluster,
		HealthStatus:            a.Health,
		SyncStatus:              a.Sync,
		OperationStateStartedAt: a.OperationStartedAt,
		OperationStatePhase:     a.OperationPhase,
		SyncRevision:            a.Revision,
		SyncRevisions:           a.Revisions,
		App:                     a.Name(),
		StaleSince:              search.StaleSince,
		Conditions:              conditions(a, search.Conditions),
	})
}

// RowsOf returns the rows of an existing report.
func RowsOf(conditions []v1alpha1.ClusterCondition) []*Row {
	rows := make([]*Row, 0, len(conditions))
	for i := range conditions {
		rows = append(rows, newRow(conditions[i]))
	}
	return rows
}

func newRow(c v1alpha1.ClusterCondition) *Row {
	return &Row{ClusterCondition: c, bytes: jsonBytes(c)}
}

// Equal reports whether two rows are equal.
func (r *Row) Equal(o *Row) bool {
	return r == o || r.bytes == o.bytes &&
		r.App == o.App && r.Cluster == o.Cluster &&
		r.HealthStatus == o.HealthStatus && r.SyncStatus == o.SyncStatus &&
		r.OperationStateStartedAt == o.OperationStateStartedAt && r.OperationStatePhase == o.OperationStatePhase &&
		r.SyncRevision == o.SyncRevision && r.StaleSince == o.StaleSince &&
		slices.Equal(r.SyncRevisions, o.SyncRevisions) && slices.Equal(r.Conditions, o.Conditions)
}

// Compare orders the rows of a report: by cluster, then by Application.
func Compare(a, b *Row) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.App, b.App))
}

// jsonBytes returns how long v is as the API server stores it.
func jsonBytes(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0 // strings, and slices of them, always encode
	}
	return len(data)
}
