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
	// FeedbackOperationRevision is the revision that the last operation synced.
	FeedbackOperationRevision = "operationStateSyncRevision"

	feedbackConditionPrefix = "condition"
)

// MaxSources is the highest number of sources of an Application for which revisions are reported.
const MaxSources = 8

// FeedbackRevisions returns the name of the feedback value with the revision of one of several
// sources. The first source is 0.
func FeedbackRevisions(source int) string { return "syncRevisions" + strconv.Itoa(source) }

// FeedbackOperationRevisions returns the name of the feedback value with the revision that the last
// operation synced for a source.
func FeedbackOperationRevisions(source int) string {
	return "operationStateSyncRevisions" + strconv.Itoa(source)
}

// RevisionPaths returns the JSON paths of the revisions of an Application with so many entries in
// spec.sources, up to [MaxSources]. An Application with a single source has none. The agent reports
// an index past the end of a list as an error, in addition to the other values. This happens until
// Argo CD has compared with a new source.
func RevisionPaths(sources int) []workv1.JsonPath {
	return paths(revisionValues[:2*min(sources, MaxSources)])
}

// Problem is why a resource prevents its Application from being Synced and Healthy.
type Problem string

// These are the problems of resources.
const (
	// ResourceSyncFailed means that the last operation could not apply the resource, or that the
	// hook has failed.
	ResourceSyncFailed Problem = "SyncFailed"
	ResourceHookFailed Problem = "HookFailed"
	ResourceDegraded   Problem = "Degraded"
	ResourceOutOfSync  Problem = "OutOfSync"
)

// problems are the filters for the first resource with each problem, in the order of severity.
var problems = [...]struct {
	problem           Problem
	resource, message string
}{
	{ResourceSyncFailed, `.status.operationState.syncResult.resources[?(@.status=="SyncFailed")]`, ".message"},
	{ResourceHookFailed, `.status.operationState.syncResult.resources[?(@.hookPhase=="Failed")]`, ".message"},
	{ResourceDegraded, `.status.resources[?(@.health.status=="Degraded")]`, ".health.message"},
	{ResourceOutOfSync, `.status.resources[?(@.status=="OutOfSync")]`, ""},
}

// ResourcePaths returns the JSON paths of the first resource with each [Problem]. An agent reports
// the first result of a path. Every resource has kind and name, so both belong to the same
// resource. The message belongs to the first resource that has a message.
func ResourcePaths() []workv1.JsonPath { return paths(resourceValues) }

// These feedback values are reported while a work carries a request. They are the request with
// which the Application on the managed cluster was last applied, the managers of its .operation,
// and its refresh annotation. No manager means that the operation has run.
const (
	FeedbackRequest        = "request"
	FeedbackOperationOwner = "operationOwner"
	FeedbackRefresh        = "refresh"
)

// These feedback values are reported for an Application that is only observed. They show the fields
// that a delivery may change.
const (
	FeedbackRepoURL              = "observedRepoURL"
	FeedbackPath                 = "observedPath"
	FeedbackChart                = "observedChart"
	FeedbackTargetRevision       = "observedTargetRevision"
	FeedbackProject              = "observedProject"
	FeedbackDestinationNamespace = "observedDestinationNamespace"
)

// ObservedPaths returns the JSON paths of the values above.
func ObservedPaths() []workv1.JsonPath { return paths(observedValues) }

// RequestPaths returns the JSON paths of the values of a request. All of them come from the same
// state of one object. So together they prove that a request was received and is done.
func RequestPaths() []workv1.JsonPath { return paths(requestValues) }

// cascading are the finalizers that make Argo CD prune the workload of a deleted Application.
// Source: pkg/apis/application/v1alpha1 of Argo CD v2.
var cascading = []string{argocd.ResourcesFinalizer, argocd.ForegroundFinalizer, argocd.BackgroundFinalizer}

// IsCascading reports whether a finalizer makes Argo CD prune the Application's workload.
func IsCascading(finalizer string) bool { return slices.Contains(cascading, finalizer) }

const feedbackFinalizerPrefix = "finalizer"

// FeedbackAutomationOwner is the feedback value with the first field manager of
// spec.syncPolicy.automated. It exists as long as the field does. The field itself is an object,
// and an agent reports only scalars.
const FeedbackAutomationOwner = "automationOwner"

// EndingPaths returns the JSON paths for a work with an ending. The Application has to be removed
// without its workload, or has to stay without automation. All values come from the same state of
// one object (see [Cascades] and [AutomationOwner]).
func EndingPaths() []workv1.JsonPath {
	return append(RequestPaths()[:1], paths(endingValues)...)
}

// Cascades returns the finalizer with which Argo CD would still prune, as reported for
// [EndingPaths]. It returns "" if Argo CD would not prune. known is true once the agent has
// reported the Application with that request.
func Cascades(values []workv1.FeedbackValue, request string) (finalizer string, known bool) {
	for i := range values {
		switch v := values[i].Value.String; {
		case v == nil:
		case values[i].Name == FeedbackRequest:
			known = *v == request
		case strings.HasPrefix(values[i].Name, feedbackFinalizerPrefix) && IsCascading(*v):
			finalizer = *v
		}
	}
	return finalizer, known
}

// AutomationOwner returns a field manager that still owns spec.syncPolicy.automated, as reported
// for [EndingPaths], or "". [Cascades] returns whether it is known.
func AutomationOwner(values []workv1.FeedbackValue) (owner string) {
	for i := range values {
		if v := values[i].Value.String; v != nil && values[i].Name == FeedbackAutomationOwner {
			owner = *v
		}
	}
	return owner
}

// FeedbackCondition returns the name of the feedback value with the first message of
// a condition type.
func FeedbackCondition(conditionType string) string { return feedbackConditionPrefix + conditionType }

// ConditionTypes are the error and warning condition types of Argo CD, in the order of
// [FeedbackPaths]. The feedback has the first message of each type. Source:
// ApplicationConditionType of Argo CD v2.
var ConditionTypes = []string{
	argocd.ComparisonError, "DeletionError", "InvalidSpecError", "SyncError", "UnknownError",
	"ExcludedResourceWarning", "OrphanedResourceWarning", "RepeatedResourceWarning", "SharedResourceWarning",
}

// FeedbackPaths returns the JSON paths that the work agent has to report for an Application with so
// many entries in spec.sources. Every path leads to a scalar. The agent leaves out paths without a
// value.
func FeedbackPaths(sources int) []workv1.JsonPath {
	all := append(paths(statusValues), paths(conditionValues)...)
	return append(append(all, ResourcePaths()...), RevisionPaths(sources)...)
}

// Feedback is the last report of a managed cluster about an Application, with the limits of
// [BoundFeedback]. A field that the agent did not report is empty. The caller decides the meaning
// of an empty field.
type Feedback struct {
	Health, HealthMessage string
	Sync, Revision        string
	Operation             OperationFeedback
	ReconciledAt          string
	// Revisions are the revisions of several sources, with "" for a revision that is not reported.
	// Revision is empty then.
	Revisions []string
	// OperationRevision and OperationRevisions are the revisions that the last operation synced.
	OperationRevision  string
	OperationRevisions []string
	// Conditions holds one entry per reported type, in the order of [ConditionTypes].
	Conditions []Condition
	// Resources holds the first resource with each problem, the gravest problem first.
	Resources []Resource
}

// Resource is a resource of an Application with a problem. Message may be empty.
type Resource struct {
	Problem             Problem
	Kind, Name, Message string
}

// OperationFeedback is the last operation of an Application. Times are RFC 3339.
type OperationFeedback struct {
	Phase, StartedAt, FinishedAt, Message string
}

// Condition is an error or warning of an Application.
type Condition struct {
	Type, Message string
}

// ParseFeedback parses the values that the agent reported for a delivered Application, with the
// limits of [BoundFeedback]. ok is false if none of them is about the status. It ignores values
// with other names and types, for example from another version.
func ParseFeedback(values []workv1.FeedbackValue) (f Feedback, ok bool) {
	p := parsed{}
	each(values, &Rejected{}, func(v *value, text string) {
		if v.set != nil {
			v.set(&p, text)
			ok = true
		}
	})
	f = p.Feedback
	for i, r := range p.resources {
		if r.Kind != "" && r.Name != "" {
			r.Problem = problems[i].problem
			f.Resources = append(f.Resources, r)
		}
	}
	slices.SortFunc(f.Conditions, func(a, b Condition) int {
		return slices.Index(ConditionTypes, a.Type) - slices.Index(ConditionTypes, b.Type)
	})
	return f, ok
}

// IsStatusFeedback reports whether [ParseFeedback] reads the feedback value of that name.
func IsStatusFeedback(name string) bool {
	known, exists := feedback[name]
	return exists && known.set != nil
}

// BoundFeedback returns the values that [ParseFeedback] and package request read, each name once.
// Messages and names have a limited length. Unknown codes, invalid times and revisions that are too
// long count as not reported. The result shares no memory with long values.
func BoundFeedback(values []workv1.FeedbackValue, rejected *Rejected) []workv1.FeedbackValue {
	var kept []workv1.FeedbackValue
	each(values, rejected, func(v *value, text string) {
		kept = append(kept, workv1.FeedbackValue{Name: v.name, Value: workv1.FieldValue{Type: workv1.String, String: &text}})
	})
	return kept
}

// each calls f with the first value of every known name.
func each(values []workv1.FeedbackValue, rejected *Rejected, f func(v *value, text string)) {
	var seen uint64
	values = Clip(values, MaxValues, rejected)
	for i := range values {
		known, ok := feedback[values[i].Name]
		if !ok || seen&known.bit != 0 {
			continue
		}
		text, ok := scalar(&values[i].Value, rejected)
		if !ok {
			continue
		}
		if text, ok = known.bound(text, rejected); ok {
			seen |= known.bit
			f(known.value, text)
		}
	}
}

// put returns list with value at index i.
func put(list []string, i int, value string) []string {
	for len(list) <= i {
		list = append(list, "")
	}
	list[i] = value
	return list
}

// scalar returns a value as a string. An agent with the feature gate RawFeedbackJsonString reports
// several conditions of one type as a JSON list. The first one counts, as with an agent without the
// gate.
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
