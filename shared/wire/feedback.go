// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"
)

// Names of the feedback values that the work agent reports for a delivered
// Application. Source: the ManifestWork contract.
const (
	FeedbackHealthStatus        = "healthStatus"
	FeedbackHealthMessage       = "healthMessage"
	FeedbackSyncStatus          = "syncStatus"
	FeedbackSyncRevision        = "syncRevision"
	FeedbackOperationPhase      = "operationStatePhase"
	FeedbackOperationStartedAt  = "operationStateStartedAt"
	FeedbackOperationFinishedAt = "operationStateFinishedAt"
	FeedbackOperationMessage    = "operationStateMessage"
	FeedbackReconciledAt        = "reconciledAt"

	feedbackConditionPrefix = "condition"
)

// ConditionTypes are the error and warning condition types of an Argo CD
// Application whose first message travels back as feedback, in the order of
// [FeedbackPaths]. Source: ApplicationConditionType of Argo CD v2.
var ConditionTypes = []string{
	"ComparisonError", "DeletionError", "InvalidSpecError", "SyncError", "UnknownError",
	"ExcludedResourceWarning", "OrphanedResourceWarning", "RepeatedResourceWarning", "SharedResourceWarning",
}

// FeedbackPaths returns the JSON paths that a ManifestWork asks the work agent to
// report for its Application. Every path leads to a scalar; one that leads
// nowhere is left out by the agent.
func FeedbackPaths() []workv1.JsonPath {
	paths := []workv1.JsonPath{
		{Name: FeedbackHealthStatus, Path: ".status.health.status"},
		{Name: FeedbackSyncStatus, Path: ".status.sync.status"},
		{Name: FeedbackSyncRevision, Path: ".status.sync.revision"},
		{Name: FeedbackOperationPhase, Path: ".status.operationState.phase"},
		{Name: FeedbackOperationStartedAt, Path: ".status.operationState.startedAt"},
		{Name: FeedbackOperationFinishedAt, Path: ".status.operationState.finishedAt"},
		{Name: FeedbackOperationMessage, Path: ".status.operationState.message"},
		{Name: FeedbackHealthMessage, Path: ".status.health.message"},
		{Name: FeedbackReconciledAt, Path: ".status.reconciledAt"},
	}
	for _, t := range ConditionTypes {
		paths = append(paths, workv1.JsonPath{
			Name: feedbackConditionPrefix + t,
			Path: `.status.conditions[?(@.type=="` + t + `")].message`,
		})
	}
	return paths
}

// Feedback is what a managed cluster last said about an Application. A field that
// the agent did not report is empty; callers decide what that means.
type Feedback struct {
	Health, HealthMessage string
	Sync, Revision        string
	Operation             OperationFeedback
	ReconciledAt          string
	// Conditions holds one entry per reported type, in the order of [ConditionTypes].
	Conditions []Condition
}

// OperationFeedback is the last operation of an Application; times are RFC 3339.
type OperationFeedback struct {
	Phase, StartedAt, FinishedAt, Message string
}

// Condition is an error or warning of an Application.
type Condition struct {
	Type, Message string
}

// FindFeedback returns the feedback of the Application namespace/name in a work's
// status. It is found by its resource, never by its place in the list. ok is false
// while the agent has not reported that Application yet.
func FindFeedback(status *workv1.ManifestWorkStatus, group, resource, namespace, name string) (f Feedback, ok bool) {
	for i := range status.ResourceStatus.Manifests {
		m := &status.ResourceStatus.Manifests[i]
		r := m.ResourceMeta
		if r.Group != group || r.Resource != resource || r.Namespace != namespace || r.Name != name {
			continue
		}
		if len(m.StatusFeedbacks.Values) == 0 {
			return Feedback{}, false
		}
		return parse(m.StatusFeedbacks.Values), true
	}
	return Feedback{}, false
}

func parse(values []workv1.FeedbackValue) Feedback {
	var f Feedback
	messages := map[string]string{}
	fields := map[string]*string{
		FeedbackHealthStatus:        &f.Health,
		FeedbackHealthMessage:       &f.HealthMessage,
		FeedbackSyncStatus:          &f.Sync,
		FeedbackSyncRevision:        &f.Revision,
		FeedbackOperationPhase:      &f.Operation.Phase,
		FeedbackOperationStartedAt:  &f.Operation.StartedAt,
		FeedbackOperationFinishedAt: &f.Operation.FinishedAt,
		FeedbackOperationMessage:    &f.Operation.Message,
		FeedbackReconciledAt:        &f.ReconciledAt,
	}
	for i := range values {
		value := values[i].Value.String
		if value == nil {
			continue // not a string: nothing that we asked for
		}
		if field := fields[values[i].Name]; field != nil {
			*field = *value
		} else if t, is := strings.CutPrefix(values[i].Name, feedbackConditionPrefix); is {
			messages[t] = *value
		}
	}
	for _, t := range ConditionTypes {
		if m := messages[t]; m != "" {
			f.Conditions = append(f.Conditions, Condition{Type: t, Message: m})
		}
	}
	return f
}
