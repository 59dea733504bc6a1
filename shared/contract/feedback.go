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

// MaxSources is of how many sources of an Application the revisions are reported.
const MaxSources = 8

// FeedbackRevisions and FeedbackOperationRevisions return the name of the feedback value with
// the revision of one of several sources, of which the first is 0.
func FeedbackRevisions(source int) string { return "syncRevisions" + strconv.Itoa(source) }

// FeedbackOperationRevisions is [FeedbackRevisions] of what the last operation synced.
func FeedbackOperationRevisions(source int) string {
	return "operationStateSyncRevisions" + strconv.Itoa(source)
}

// RevisionPaths returns the JSON paths of the revisions of an Application with so many
// entries in spec.sources: none of one with a single source. They go to [MaxSources]. An index
// that is past the end of a list, as that of the status is until Argo CD has compared with a
// source that is new, is an error to the agent, which it reports beside all the other values.
func RevisionPaths(sources int) []workv1.JsonPath {
	return paths(revisionValues[:2*min(sources, MaxSources)])
}

// Problem is how a resource keeps its Application from being Synced and Healthy.
type Problem string

// Problems of resources.
const (
	// ResourceSyncFailed: the last operation could not apply it, or the hook has failed.
	ResourceSyncFailed Problem = "SyncFailed"
	ResourceHookFailed Problem = "HookFailed"
	ResourceDegraded   Problem = "Degraded"
	ResourceOutOfSync  Problem = "OutOfSync"
)

// problems are how the first resource with each problem is found, the gravest first.
var problems = [...]struct {
	problem           Problem
	resource, message string
}{
	{ResourceSyncFailed, `.status.operationState.syncResult.resources[?(@.status=="SyncFailed")]`, ".message"},
	{ResourceHookFailed, `.status.operationState.syncResult.resources[?(@.hookPhase=="Failed")]`, ".message"},
	{ResourceDegraded, `.status.resources[?(@.health.status=="Degraded")]`, ".health.message"},
	{ResourceOutOfSync, `.status.resources[?(@.status=="OutOfSync")]`, ""},
}

// ResourcePaths returns the JSON paths of the first resource with each [Problem]. Of several
// results an agent reports the first; kind and name, which every resource has, are those of
// one resource, and the message is the first that one with the problem has.
func ResourcePaths() []workv1.JsonPath { return paths(resourceValues) }

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
func ObservedPaths() []workv1.JsonPath { return paths(observedValues) }

// RequestPaths returns the JSON paths of the values of a request. All come from the same
// state of the same object, so that together they prove that a request was seen
// and is done.
func RequestPaths() []workv1.JsonPath { return paths(requestValues) }

// cascading are the finalizers with which Argo CD prunes what a deleted Application
// deployed. Source: pkg/apis/application/v1alpha1 of Argo CD v2.
var cascading = []string{argocd.ResourcesFinalizer, argocd.ForegroundFinalizer, argocd.BackgroundFinalizer}

// IsCascading reports whether Argo CD prunes what it deployed for a finalizer.
func IsCascading(finalizer string) bool { return slices.Contains(cascading, finalizer) }

const feedbackFinalizerPrefix = "finalizer"

// FeedbackAutomationOwner is the name of the feedback value with the first field manager that owns
// spec.syncPolicy.automated, which is there while the field is. The field itself is an object, and
// an agent reports scalars.
const FeedbackAutomationOwner = "automationOwner"

// EndingPaths returns the JSON paths that a work asks for when its Application is to go
// without what it deployed, or to stay without automation. All come from the same state of the
// same object, see [Cascades] and [AutomationOwner].
func EndingPaths() []workv1.JsonPath {
	return append(RequestPaths()[:1], paths(endingValues)...)
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
		case strings.HasPrefix(values[i].Name, feedbackFinalizerPrefix) && IsCascading(*v):
			finalizer = *v
		}
	}
	return finalizer, known
}

// AutomationOwner returns what an agent has reported of the paths of [EndingPaths]: a field manager
// that still owns spec.syncPolicy.automated, empty for none. [Cascades] says whether it is known.
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

// ConditionTypes are the error and warning condition types of an Argo CD
// Application whose first message travels back as feedback, in the order of
// [FeedbackPaths]. Source: ApplicationConditionType of Argo CD v2.
var ConditionTypes = []string{
	argocd.ComparisonError, "DeletionError", "InvalidSpecError", "SyncError", "UnknownError",
	"ExcludedResourceWarning", "OrphanedResourceWarning", "RepeatedResourceWarning", "SharedResourceWarning",
}

// FeedbackPaths returns the JSON paths that a ManifestWork asks the work agent to
// report for its Application, which has so many entries in spec.sources. Every path leads to
// a scalar; one that leads nowhere is left out by the agent.
func FeedbackPaths(sources int) []workv1.JsonPath {
	all := append(paths(statusValues), paths(conditionValues)...)
	return append(append(all, ResourcePaths()...), RevisionPaths(sources)...)
}

// Feedback is what a managed cluster last said about an Application, bounded as
// [BoundFeedback] does. A field that the agent did not report is empty; callers
// decide what that means.
type Feedback struct {
	Health, HealthMessage string
	Sync, Revision        string
	Operation             OperationFeedback
	ReconciledAt          string
	// Revisions are those of several sources, empty where one is not reported. Such an
	// Application has no Revision.
	Revisions []string
	// OperationRevision and OperationRevisions are what the last operation synced.
	OperationRevision  string
	OperationRevisions []string
	// Conditions holds one entry per reported type, in the order of [ConditionTypes].
	Conditions []Condition
	// Resources holds the first resource with each problem, the gravest problem first.
	Resources []Resource
}

// Resource is a resource of an Application with a problem; Message may be empty.
type Resource struct {
	Problem             Problem
	Kind, Name, Message string
}

// OperationFeedback is the last operation of an Application; times are RFC 3339.
type OperationFeedback struct {
	Phase, StartedAt, FinishedAt, Message string
}

// Condition is an error or warning of an Application.
type Condition struct {
	Type, Message string
}

// ParseFeedback reads the values that the agent reported for a delivered
// Application, bounded as [BoundFeedback] does. ok is false when none of them is
// about its status. Values of other names and types are ignored: they are not about
// the status, or belong to another version of us.
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

// IsStatusFeedback reports whether a feedback value of that name is one that
// [ParseFeedback] reads.
func IsStatusFeedback(name string) bool {
	known, is := feedback[name]
	return is && known.set != nil
}

// BoundFeedback returns the values that [ParseFeedback] and the follow-up of
// requests read, each name once and each value as it is kept: messages and names of
// limited length, codes that Argo CD knows, times that are times. An unknown code,
// a time that is none and a revision that is too long count as not reported. It
// shares no memory with long values.
func BoundFeedback(values []workv1.FeedbackValue, rejected *Rejected) []workv1.FeedbackValue {
	var kept []workv1.FeedbackValue
	each(values, rejected, func(v *value, text string) {
		kept = append(kept, workv1.FeedbackValue{Name: v.name, Value: workv1.FieldValue{Type: workv1.String, String: &text}})
	})
	return kept
}

// each calls f with every known value, the first of each name.
func each(values []workv1.FeedbackValue, rejected *Rejected, f func(v *value, text string)) {
	var seen uint64
	values = Clip(values, MaxValues, rejected)
	for i := range values {
		known, is := feedback[values[i].Name]
		if !is || seen&known.bit != 0 {
			continue
		}
		text, is := scalar(&values[i].Value, rejected)
		if !is {
			continue
		}
		if text, is = known.bound(text, rejected); is {
			seen |= known.bit
			f(known.value, text)
		}
	}
}

// put returns a list with a value at i.
func put(list []string, i int, value string) []string {
	for len(list) <= i {
		list = append(list, "")
	}
	list[i] = value
	return list
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
