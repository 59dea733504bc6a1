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
	sources = min(sources, MaxSources)
	paths := make([]workv1.JsonPath, 0, 2*sources)
	for i := range sources {
		at := "[" + strconv.Itoa(i) + "]"
		paths = append(paths,
			workv1.JsonPath{Name: FeedbackRevisions(i), Path: ".status.sync.revisions" + at},
			workv1.JsonPath{Name: FeedbackOperationRevisions(i), Path: ".status.operationState.syncResult.revisions" + at})
	}
	return paths
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

const (
	feedbackResourcePrefix  = "resource"
	feedbackResourceKind    = "Kind"
	feedbackResourceName    = "Name"
	feedbackResourceMessage = "Message"
)

// ResourcePaths returns the JSON paths of the first resource with each [Problem]. Of several
// results an agent reports the first; kind and name, which every resource has, are those of
// one resource, and the message is the first that one with the problem has.
func ResourcePaths() []workv1.JsonPath {
	var paths []workv1.JsonPath
	for _, p := range problems {
		name := feedbackResourcePrefix + string(p.problem)
		paths = append(paths,
			workv1.JsonPath{Name: name + feedbackResourceKind, Path: p.resource + ".kind"},
			workv1.JsonPath{Name: name + feedbackResourceName, Path: p.resource + ".name"})
		if p.message != "" {
			paths = append(paths, workv1.JsonPath{Name: name + feedbackResourceMessage, Path: p.resource + p.message})
		}
	}
	return paths
}

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

// FeedbackAutomationOwner is the name of the feedback value with the first field manager that owns
// spec.syncPolicy.automated, which is there while the field is. The field itself is an object, and
// an agent reports scalars.
const FeedbackAutomationOwner = "automationOwner"

// EndingPaths returns the JSON paths that a work asks for when its Application is to go
// without what it deployed, or to stay without automation. All come from the same state of the
// same object, see [Cascades] and [AutomationOwner].
func EndingPaths() []workv1.JsonPath {
	paths := RequestPaths()[:1]
	for i, f := range cascading {
		paths = append(paths, workv1.JsonPath{Name: feedbackFinalizerPrefix + strconv.Itoa(i), Path: `.metadata.finalizers[?(@=="` + f + `")]`})
	}
	return append(paths, workv1.JsonPath{Name: FeedbackAutomationOwner, Path: `.metadata.managedFields[?(@.fieldsV1['f:spec']['f:syncPolicy']['f:automated'])].manager`})
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

// AutomationOwner returns what an agent has reported of the paths of [EndingPaths]: a field manager
// that still owns spec.syncPolicy.automated, empty for none. It is known once the Application with
// that request has been read.
func AutomationOwner(values []workv1.FeedbackValue, request string) (owner string, known bool) {
	for i := range values {
		switch v := values[i].Value.String; {
		case v == nil:
		case values[i].Name == FeedbackRequest:
			known = *v == request
		case values[i].Name == FeedbackAutomationOwner:
			owner = *v
		}
	}
	return owner, known
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
	paths := append(make([]workv1.JsonPath, 0, 64), []workv1.JsonPath{
		{Name: FeedbackHealthStatus, Path: ".status.health.status"},
		{Name: FeedbackSyncStatus, Path: ".status.sync.status"},
		{Name: FeedbackSyncRevision, Path: ".status.sync.revision"},
		{Name: FeedbackOperationPhase, Path: ".status.operationState.phase"},
		{Name: FeedbackOperationStartedAt, Path: ".status.operationState.startedAt"},
		{Name: FeedbackOperationFinishedAt, Path: ".status.operationState.finishedAt"},
		{Name: FeedbackOperationMessage, Path: ".status.operationState.message"},
		{Name: FeedbackHealthMessage, Path: ".status.health.message"},
		{Name: FeedbackReconciledAt, Path: ".status.reconciledAt"},
		{Name: FeedbackOperationRevision, Path: ".status.operationState.syncResult.revision"},
	}...)
	for _, t := range ConditionTypes {
		paths = append(paths, workv1.JsonPath{
			Name: FeedbackCondition(t),
			Path: `.status.conditions[?(@.type=="` + t + `")].message`,
		})
	}
	return append(append(paths, ResourcePaths()...), RevisionPaths(sources)...)
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
	var resources [len(problems)]Resource
	each(values, &Rejected{}, func(name, value string) {
		if field := f.field(name); field != nil {
			*field, ok = value, true
		} else if t, is := strings.CutPrefix(name, feedbackConditionPrefix); is && value != "" {
			f.Conditions, ok = append(f.Conditions, Condition{Type: t, Message: value}), true
		} else if at, is := ofSource[name]; is {
			list := f.revisions(at.operation)
			*list, ok = put(*list, at.source, value), true
		} else if at, is := ofResource[name]; is {
			*resources[at.problem].field(at.field), ok = value, true
		}
	})
	for i, r := range resources {
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
	var f Feedback
	_, revision := ofSource[name]
	_, resource := ofResource[name]
	return f.field(name) != nil || revision || resource || strings.HasPrefix(name, feedbackConditionPrefix)
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
	add(FeedbackOperationRevision, revision)
	add(FeedbackRequest, token)
	add(FeedbackOperationOwner, token)
	add(FeedbackRefresh, token)
	add(FeedbackAutomationOwner, token)
	for i := range cascading {
		add(feedbackFinalizerPrefix+strconv.Itoa(i), token)
	}
	for _, t := range ConditionTypes {
		add(feedbackConditionPrefix+t, message)
	}
	for _, p := range ObservedPaths() {
		add(p.Name, exact)
	}
	for name := range ofSource {
		add(name, revision)
	}
	for name, at := range ofResource {
		if at.field == feedbackResourceMessage {
			add(name, message)
		} else {
			add(name, wholeName)
		}
	}
	return all
}()

// ofSource says for the feedback values of several sources which one they are of.
var ofSource = func() map[string]sourceValue {
	all := map[string]sourceValue{}
	for i := range MaxSources {
		all[FeedbackRevisions(i)], all[FeedbackOperationRevisions(i)] = sourceValue{source: i}, sourceValue{source: i, operation: true}
	}
	return all
}()

type sourceValue struct {
	source    int
	operation bool
}

// ofResource says for the feedback values of resources which field of which problem they are.
var ofResource = func() map[string]resourceValue {
	all := map[string]resourceValue{}
	for i, p := range problems {
		for _, field := range []string{feedbackResourceKind, feedbackResourceName, feedbackResourceMessage} {
			all[feedbackResourcePrefix+string(p.problem)+field] = resourceValue{i, field}
		}
	}
	return all
}()

type resourceValue struct {
	problem int
	field   string
}

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
	case FeedbackOperationRevision:
		return &f.OperationRevision
	}
	return nil
}

// revisions returns the list of what was compared last, or of what the last operation synced.
func (f *Feedback) revisions(operation bool) *[]string {
	if operation {
		return &f.OperationRevisions
	}
	return &f.Revisions
}

// field returns a field by the end of its feedback value's name.
func (r *Resource) field(name string) *string {
	switch name {
	case feedbackResourceKind:
		return &r.Kind
	case feedbackResourceName:
		return &r.Name
	}
	return &r.Message
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
