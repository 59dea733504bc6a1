// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/observe"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// place is where an Application was delivered to.
type place struct {
	cluster, namespace, name string
}

// findings is what search found out about an ApplicationSet.
type findings struct {
	resources  merge.ResourceList
	conditions map[place][]v1alpha1.Condition
}

func newFindings(r *intermediate.Report) *findings {
	f := &findings{conditions: map[place][]v1alpha1.Condition{}}
	union := map[v1alpha1.ResourceRef]struct{}{}
	for i := range r.Applications {
		a := &r.Applications[i]
		for _, resource := range a.Resources {
			union[v1alpha1.ResourceRef{
				APIVersion: resource.APIVersion, Kind: resource.Kind, Name: resource.Name, Namespace: resource.Namespace,
			}] = struct{}{}
		}
		if len(a.Conditions) == 0 {
			continue
		}
		conditions := make([]v1alpha1.Condition, 0, len(a.Conditions))
		for _, c := range a.Conditions {
			conditions = append(conditions, v1alpha1.Condition{Type: intern(c.Type), Message: intern(c.Message)})
		}
		f.conditions[place{a.Cluster, a.Namespace, a.Name}] = conditions
	}
	refs := make([]v1alpha1.ResourceRef, 0, len(union))
	for ref := range union {
		refs = append(refs, ref)
	}
	f.resources = merge.Resources(refs)
	return f
}

// memory is what a report said when this process first met it.
type memory struct {
	resources merge.ResourceList
	rows      map[string]v1alpha1.ClusterCondition // by App
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

// recall fills in the operation that feedback may be missing for a moment.
func (m *memory) recall(app string, previous *observe.Observation) {
	row := m.rows[app]
	previous.Operation = wire.OperationFeedback{Phase: row.OperationStatePhase, StartedAt: row.OperationStateStartedAt}
	previous.Revision = row.SyncRevision
}

// conditions returns what only search can have told about an Application, as long
// as nothing else about it has changed since: new feedback is newer knowledge.
func (m *memory) conditions(now *merge.Row) []v1alpha1.Condition {
	old, ok := m.rows[now.App]
	if !ok || old.HealthStatus != now.HealthStatus || old.SyncStatus != now.SyncStatus || old.SyncRevision != now.SyncRevision ||
		old.OperationStatePhase != now.OperationStatePhase || old.OperationStateStartedAt != now.OperationStateStartedAt {
		return nil
	}
	var kept []v1alpha1.Condition
	for _, c := range old.Conditions {
		if !fromFeedback(c.Type) {
			kept = append(kept, c)
		}
	}
	return kept
}

// fromFeedback reports whether feedback alone decides about a type of condition.
func fromFeedback(conditionType string) bool {
	return slices.Contains(ownReasons, observe.Reason(conditionType)) || slices.Contains(wire.ConditionTypes, conditionType)
}

var ownReasons = []observe.Reason{observe.ClusterUnreachable, observe.ApplyFailed, observe.ApplicationUnreadable}
