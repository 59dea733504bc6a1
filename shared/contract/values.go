// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strconv"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// value is a feedback value. It has the path that a work asks for, the limit, and the field. name
// is the constant, so that it needs no memory.
type value struct {
	name, path string
	bound      bound
	// set is nil if the value is not part of the Application's status.
	set func(*parsed, string)
}

// bound returns a value within its limit. ok is false if nothing of it is kept.
type bound func(value string, rejected *Rejected) (kept string, ok bool)

// parsed is a Feedback that is being parsed.
type parsed struct {
	Feedback
	resources [len(problems)]Resource
}

var statusValues = []value{
	{FeedbackHealthStatus, ".status.health.status", healthCode, func(p *parsed, v string) { p.Health = v }},
	{FeedbackSyncStatus, ".status.sync.status", syncCode, func(p *parsed, v string) { p.Sync = v }},
	{FeedbackSyncRevision, ".status.sync.revision", revision, func(p *parsed, v string) { p.Revision = v }},
	{FeedbackOperationPhase, ".status.operationState.phase", phaseCode, func(p *parsed, v string) { p.Operation.Phase = v }},
	{FeedbackOperationStartedAt, ".status.operationState.startedAt", moment, func(p *parsed, v string) { p.Operation.StartedAt = v }},
	{FeedbackOperationFinishedAt, ".status.operationState.finishedAt", moment, func(p *parsed, v string) { p.Operation.FinishedAt = v }},
	{FeedbackOperationMessage, ".status.operationState.message", message, func(p *parsed, v string) { p.Operation.Message = v }},
	{FeedbackHealthMessage, ".status.health.message", message, func(p *parsed, v string) { p.HealthMessage = v }},
	{FeedbackReconciledAt, ".status.reconciledAt", moment, func(p *parsed, v string) { p.ReconciledAt = v }},
	{FeedbackOperationRevision, ".status.operationState.syncResult.revision", revision, func(p *parsed, v string) { p.OperationRevision = v }},
}

var conditionValues = func() (all []value) {
	for _, t := range ConditionTypes {
		all = append(all, value{FeedbackCondition(t), `.status.conditions[?(@.type=="` + t + `")].message`, wholeMessage, func(p *parsed, v string) {
			p.Conditions = append(p.Conditions, Condition{Type: t, Message: v})
		}})
	}
	return all
}()

var resourceValues = func() (all []value) {
	for i, p := range problems {
		name := "resource" + string(p.problem)
		all = append(all,
			value{name + "Kind", p.resource + ".kind", wholeName, func(p *parsed, v string) { p.resources[i].Kind = v }},
			value{name + "Name", p.resource + ".name", wholeName, func(p *parsed, v string) { p.resources[i].Name = v }})
		if p.message != "" {
			all = append(all, value{name + "Message", p.resource + p.message, message, func(p *parsed, v string) { p.resources[i].Message = v }})
		}
	}
	return all
}()

var revisionValues = func() (all []value) {
	for i := range MaxSources {
		at := "[" + strconv.Itoa(i) + "]"
		all = append(all,
			value{FeedbackRevisions(i), ".status.sync.revisions" + at, revision, func(p *parsed, v string) { p.Revisions = put(p.Revisions, i, v) }},
			value{FeedbackOperationRevisions(i), ".status.operationState.syncResult.revisions" + at, revision, func(p *parsed, v string) {
				p.OperationRevisions = put(p.OperationRevisions, i, v)
			}})
	}
	return all
}()

var escape = strings.NewReplacer(".", `\.`)

var requestValues = []value{
	{FeedbackRequest, ".metadata.annotations['" + escape.Replace(RequestAnnotation) + "']", token, nil},
	{FeedbackOperationOwner, ".metadata.managedFields[?(@.fieldsV1['f:operation'])].manager", token, nil},
	{FeedbackRefresh, ".metadata.annotations['" + escape.Replace(argocd.RefreshAnnotation) + "']", token, nil},
}

var endingValues = func() (all []value) {
	for i, f := range cascading {
		all = append(all, value{feedbackFinalizerPrefix + strconv.Itoa(i), `.metadata.finalizers[?(@=="` + f + `")]`, token, nil})
	}
	return append(all, value{FeedbackAutomationOwner, `.metadata.managedFields[?(@.fieldsV1['f:spec']['f:syncPolicy']['f:automated'])].manager`, token, nil})
}()

var observedValues = []value{
	{FeedbackRepoURL, ".spec.source.repoURL", exact, nil},
	{FeedbackPath, ".spec.source.path", exact, nil},
	{FeedbackChart, ".spec.source.chart", exact, nil},
	{FeedbackTargetRevision, ".spec.source.targetRevision", exact, nil},
	{FeedbackProject, ".spec.project", exact, nil},
	{FeedbackDestinationNamespace, ".spec.destination.namespace", exact, nil},
}

// known is a value with its bit.
type known struct {
	*value
	bit uint64
}

var feedback = func() map[string]known {
	all := map[string]known{}
	for _, values := range [][]value{statusValues, conditionValues, resourceValues, revisionValues, requestValues, endingValues, observedValues} {
		for i := range values {
			all[values[i].name] = known{&values[i], 1 << len(all)}
		}
	}
	return all
}()

// paths returns the JSON paths of the values.
func paths(values []value) []workv1.JsonPath {
	all := make([]workv1.JsonPath, 0, 64)
	for i := range values {
		all = append(all, workv1.JsonPath{Name: values[i].name, Path: values[i].path})
	}
	return all
}
