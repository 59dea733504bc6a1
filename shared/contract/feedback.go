// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
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

// Names of the feedback values that a work asks for while it carries a request:
// which request the Application on the managed cluster was last applied with, who
// owns its .operation (no manager: it has run), and its refresh annotation.
const (
	FeedbackRequest        = "request"
	FeedbackOperationOwner = "operationOwner"
	FeedbackRefresh        = "refresh"
)

// Names of the feedback values that a work asks for which only reads its Application: what
// delivering it may change.
const (
	FeedbackRepoURL              = "observedRepoURL"
	FeedbackPath                 = "observedPath"
	FeedbackChart                = "observedChart"
	FeedbackTargetRevision       = "observedTargetRevision"
	FeedbackProject              = "observedProject"
	FeedbackDestinationNamespace = "observedDestinationNamespace"
)

// ObservedPaths returns the JSON paths of the values above.
func ObservedPaths() []workv1.JsonPath {
	return []workv1.JsonPath{
		{Name: FeedbackRepoURL, Path: ".spec.source.repoURL"},
		{Name: FeedbackPath, Path: ".spec.source.path"},
		{Name: FeedbackChart, Path: ".spec.source.chart"},
		{Name: FeedbackTargetRevision, Path: ".spec.source.targetRevision"},
		{Name: FeedbackProject, Path: ".spec.project"},
		{Name: FeedbackDestinationNamespace, Path: ".spec.destination.namespace"},
	}
}

// feedbackRevision begins the names of the revisions of an Application with several sources.
const feedbackRevision = "revision"

// MaxRevisions is how many of them are reported.
const MaxRevisions = 8

// FeedbackRevision returns the name of the feedback value with the revision of source i.
func FeedbackRevision(i int) string { return feedbackRevision + strconv.Itoa(i) }

// RevisionPaths returns the JSON paths of the revisions of n sources.
func RevisionPaths(n int) []workv1.JsonPath {
	paths := make([]workv1.JsonPath, min(n, MaxRevisions))
	for i := range paths {
		paths[i] = workv1.JsonPath{Name: FeedbackRevision(i), Path: ".status.sync.revisions[" + strconv.Itoa(i) + "]"}
	}
	return paths
}

// RequestPaths returns the JSON paths of the values above. All come from the same
// state of the same object, so that together they prove that a request was seen
// and is done.
func RequestPaths() []workv1.JsonPath {
	escape := strings.NewReplacer(".", `\.`)
	return []workv1.JsonPath{
		{Name: FeedbackRequest, Path: ".metadata.annotations['" + escape.Replace(RequestAnnotation) + "']"},
		{Name: FeedbackOperationOwner, Path: ".metadata.managedFields[?(@.fieldsV1['f:operation'])].manager"},
		{Name: FeedbackRefresh, Path: ".metadata.annotations['" + escape.Replace(argocd.RefreshAnnotation) + "']"},
	}
}

// cascading are the finalizers with which Argo CD prunes what a deleted Application
// deployed. Source: pkg/apis/application/v1alpha1 of Argo CD v2.
var cascading = []string{argocd.ResourcesFinalizer, argocd.ForegroundFinalizer, argocd.BackgroundFinalizer}

const feedbackFinalizerPrefix = "finalizer"

// EndingPaths returns the JSON paths that a work asks for when its Application is to go
// without what it deployed. All come from the same state of the same object, see [Cascades].
func EndingPaths() []workv1.JsonPath {
	paths := RequestPaths()[:1]
	for i, f := range cascading {
		paths = append(paths, workv1.JsonPath{Name: feedbackFinalizerPrefix + strconv.Itoa(i), Path: `.metadata.finalizers[?(@=="` + f + `")]`})
	}
	return paths
}

// Cascades returns what an agent has reported of the paths of [EndingPaths]: the finalizer
// with which Argo CD would still prune, empty for none. It is known once the Application
// with that request has been read.
func Cascades(values []workv1.FeedbackValue, request string) (finalizer string, known bool) {
	for i := range values {
		switch v := values[i].Value.String; {
		case v == nil:
		case values[i].Name == FeedbackRequest:
			known = *v == request
		case strings.HasPrefix(values[i].Name, feedbackFinalizerPrefix) && slices.Contains(cascading, *v):
			finalizer = *v
		}
	}
	return finalizer, known
}

// FeedbackCondition returns the name of the feedback value with the first message of
// a condition type.
func FeedbackCondition(conditionType string) string { return feedbackConditionPrefix + conditionType }

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
	paths := append(make([]workv1.JsonPath, 0, 9+len(ConditionTypes)), []workv1.JsonPath{
		{Name: FeedbackHealthStatus, Path: ".status.health.status"},
		{Name: FeedbackSyncStatus, Path: ".status.sync.status"},
		{Name: FeedbackSyncRevision, Path: ".status.sync.revision"},
		{Name: FeedbackOperationPhase, Path: ".status.operationState.phase"},
		{Name: FeedbackOperationStartedAt, Path: ".status.operationState.startedAt"},
		{Name: FeedbackOperationFinishedAt, Path: ".status.operationState.finishedAt"},
		{Name: FeedbackOperationMessage, Path: ".status.operationState.message"},
		{Name: FeedbackHealthMessage, Path: ".status.health.message"},
		{Name: FeedbackReconciledAt, Path: ".status.reconciledAt"},
	}...)
	for _, t := range ConditionTypes {
		paths = append(paths, workv1.JsonPath{
			Name: FeedbackCondition(t),
			Path: `.status.conditions[?(@.type=="` + t + `")].message`,
		})
	}
	return paths
}

// Feedback is what a managed cluster last said about an Application, bounded as
// [BoundFeedback] does. A field that the agent did not report is empty; callers
// decide what that means.
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
		r := &m.ResourceMeta
		if r.Group == group && r.Resource == resource && r.Namespace == namespace && r.Name == name {
			return ParseFeedback(m.StatusFeedbacks.Values)
		}
	}
	return Feedback{}, false
}

// ParseFeedback reads the values that the agent reported for a delivered
// Application, bounded as [BoundFeedback] does. ok is false when none of them is
// about its status. Values of other names and types are ignored: they are not about
// the status, or belong to another version of us.
func ParseFeedback(values []workv1.FeedbackValue) (f Feedback, ok bool) {
	each(values, &Rejected{}, func(name, value string) {
		if field := f.field(name); field != nil {
			*field, ok = value, true
		} else if t, is := strings.CutPrefix(name, feedbackConditionPrefix); is && value != "" {
			f.Conditions, ok = append(f.Conditions, Condition{Type: t, Message: value}), true
		}
	})
	slices.SortFunc(f.Conditions, func(a, b Condition) int {
		return slices.Index(ConditionTypes, a.Type) - slices.Index(ConditionTypes, b.Type)
	})
	return f, ok
}

// IsStatusFeedback reports whether a feedback value of that name is one that
// [ParseFeedback] reads.
func IsStatusFeedback(name string) bool {
	var f Feedback
	return f.field(name) != nil || strings.HasPrefix(name, feedbackConditionPrefix)
}

// BoundFeedback returns the values that [ParseFeedback] and the follow-up of
// requests read, each name once and each value as it is kept: messages and names of
// limited length, codes that Argo CD knows, times that are times. An unknown code,
// a time that is none and a revision that is too long count as not reported. It
// shares no memory with long values.
func BoundFeedback(values []workv1.FeedbackValue, rejected *Rejected) []workv1.FeedbackValue {
	var kept []workv1.FeedbackValue
	each(values, rejected, func(name, value string) {
		kept = append(kept, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
	})
	return kept
}

// each calls f with every known value, the first of each name.
func each(values []workv1.FeedbackValue, rejected *Rejected, f func(name, value string)) {
	var seen uint64
	values = Clip(values, MaxValues, rejected)
	for i := range values {
		k, known := feedback[values[i].Name]
		if !known || seen&k.bit != 0 {
			continue
		}
		value, is := scalar(&values[i].Value, rejected)
		if !is {
			continue
		}
		if value, is = k.bound(value, rejected); is {
			seen |= k.bit
			f(k.name, value)
		}
	}
}

// bound returns a value as it is kept; ok is false when nothing of it is.
type bound func(value string, rejected *Rejected) (kept string, ok bool)

// known is how a value of one name is kept. name is the constant, which costs no
// memory of its own.
type known struct {
	name  string
	bit   uint64
	bound bound
}

var feedback = func() map[string]known {
	all := map[string]known{}
	add := func(name string, b bound) { all[name] = known{name: name, bit: 1 << len(all), bound: b} }
	add(FeedbackHealthStatus, healthCode)
	add(FeedbackHealthMessage, message)
	add(FeedbackSyncStatus, syncCode)
	add(FeedbackSyncRevision, revision)
	add(FeedbackOperationPhase, phaseCode)
	add(FeedbackOperationStartedAt, moment)
	add(FeedbackOperationFinishedAt, moment)
	add(FeedbackOperationMessage, message)
	add(FeedbackReconciledAt, moment)
	add(FeedbackRequest, token)
	add(FeedbackOperationOwner, token)
	add(FeedbackRefresh, token)
	for _, t := range ConditionTypes {
		add(feedbackConditionPrefix+t, message)
	}
	for _, p := range ObservedPaths() {
		add(p.Name, exact)
	}
	for i := range MaxRevisions {
		add(FeedbackRevision(i), revision)
	}
	return all
}()

func (f *Feedback) field(name string) *string {
	switch name {
	case FeedbackHealthStatus:
		return &f.Health
	case FeedbackHealthMessage:
		return &f.HealthMessage
	case FeedbackSyncStatus:
		return &f.Sync
	case FeedbackSyncRevision:
		return &f.Revision
	case FeedbackOperationPhase:
		return &f.Operation.Phase
	case FeedbackOperationStartedAt:
		return &f.Operation.StartedAt
	case FeedbackOperationFinishedAt:
		return &f.Operation.FinishedAt
	case FeedbackOperationMessage:
		return &f.Operation.Message
	case FeedbackReconciledAt:
		return &f.ReconciledAt
	}
	return nil
}

// scalar returns a value as a string. An agent with the feature gate
// RawFeedbackJsonString reports several conditions of one type as a JSON list:
// the first one counts, which is what an agent without the gate reports.
func scalar(v *workv1.FieldValue, rejected *Rejected) (string, bool) {
	switch {
	case v.String != nil:
		return *v.String, true
	case v.JsonRaw != nil && len(*v.JsonRaw) > maxRaw:
		rejected.TooLong++
	case v.JsonRaw != nil:
		var list []string
		if json.Unmarshal([]byte(*v.JsonRaw), &list) == nil && len(list) > 0 {
			return list[0], true
		}
	}
	return "", false
}
