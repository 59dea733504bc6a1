// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// These are the kinds of request.
const (
	KindOperation = "operation"
	KindRefresh   = "refresh"
)

// Step is the next step about the request of an Application.
type Step int

// These are the steps.
const (
	StepSend   Step = iota // the work has to carry Plan.Request, which may be empty
	StepClaim              // give the request an identity
	StepHold               // keep the Application in the work unchanged, because the cluster is running its request
	StepFinish             // the request is done: remove Plan.Done and the claim
	StepDrop               // the request was cancelled or never sent: remove the claim
)

// Plan is the next step of a request.
type Plan struct {
	Step    Step
	Request Request
	// Replaced is true if the hub has another operation or refresh than the work. The work keeps
	// its own first.
	Replaced bool
	// Done are the kinds of the request that are removed from the hub.
	Done []string
}

// Known is the state of a request that neither the Application nor the work has.
type Known struct {
	// Claim is the claim on the Application, or "".
	Claim string
	// Unseen is true if the managed cluster cannot have received the claimed request, unless its
	// feedback shows otherwise.
	Unseen bool
	// Refreshing is the identity of a refresh that this process has sent, if the Application asks
	// for it alone. Refreshed is true if this process has removed that refresh, and the Application
	// is an older version.
	Refreshing string
	Refreshed  bool
}

// PlanFor decides from the Application, the state of its request, and the work that carries it, or
// nil.
func PlanFor(app *argocd.Application, work *manifestcache.Work, k Known) Plan {
	wanted, claim := wantedKinds(app), k.Claim
	switch {
	case claim != "":
	case isRefresh(wanted):
		return planRefresh(app, work, k)
	case len(wanted) > 0:
		return Plan{Step: StepClaim, Request: Request{ID: newClaim(app, wanted)}}
	default:
		return Plan{}
	}
	kinds := kindsOf(claim)
	same, gone := unchanged(app, claim)
	if gone[KindOperation] || len(gone) == len(kinds) {
		return Plan{Step: StepDrop, Request: Request{ID: claim}}
	}
	r := Request{ID: claim}
	if slices.Contains(kinds, KindOperation) {
		r.Operation = app.Operation
	}
	if slices.Contains(kinds, KindRefresh) {
		r.Refresh = app.Annotations[argocd.RefreshAnnotation]
	}
	sent := sentWith(work)
	switch {
	case claimIn(sent) == claim:
		return planSent(app, r, sent, same, work, k.Unseen)
	case len(same) < len(kinds):
		return Plan{Step: StepDrop, Request: r} // no part of it was sent
	}
	return planAfter(r, sent, work, k.Unseen)
}

// sentWith returns the request that a work carries.
func sentWith(work *manifestcache.Work) string {
	if work == nil {
		return ""
	}
	return work.Extra.Request
}

// planSent plans the next step of a request that the work carries. same are the kinds that the hub
// still has.
func planSent(app *argocd.Application, r Request, sent string, same []string, work *manifestcache.Work, unseen bool) Plan {
	kinds := kindsOf(r.ID)
	changed := len(same) < len(kinds)
	reported := feedbackOf(work)
	switch {
	case reported.finished(sent, kinds):
		return Plan{Step: StepFinish, Request: r, Done: same}
	case r.Operation != nil && terminates(app, reported) && reported.running(sent):
		// A termination that was applied before was lost, because Argo CD was writing the state of
		// the operation at that moment. So the identity changes, because the agent applies only
		// changes.
		r.ID = withTermination(sent)
		r.StartedAt = reported.startedAt
		return Plan{Request: r, Replaced: changed}
	case reported.applied(sent):
	case notApplied(work):
		// The managed cluster refused it. A corrected request must not wait for it.
		if changed {
			return Plan{Step: StepDrop, Request: r}
		}
		return Plan{Request: r}
	case unseen:
		r.ID = sent
		return Plan{Request: r, Replaced: changed}
	}
	r.ID = sent
	return Plan{Step: StepHold, Request: r, Replaced: changed}
}

// terminates reports whether a user asked to terminate the operation that is running on the
// cluster. The hub's status may still show the operation before.
func terminates(app *argocd.Application, f feedback) bool {
	startedAt, yes := terminated(app)
	return yes && (startedAt == "" || startedAt == f.startedAt)
}

// planAfter sends a request to a work that may have an earlier one. The earlier one has to finish
// first, because Argo CD loses an operation that replaces a running one. A refresh alone does not
// wait.
func planAfter(r Request, sent string, work *manifestcache.Work, unseen bool) Plan {
	if sent == "" || IsRefresh(sent) {
		return Plan{Request: r}
	}
	reported := feedbackOf(work)
	if reported.finished(sent, kindsOf(sent)) || notApplied(work) && !reported.applied(sent) {
		return Plan{Request: r}
	}
	r.ID = sent
	if unseen && !reported.applied(sent) {
		return Plan{Request: r, Replaced: true}
	}
	return Plan{Step: StepHold, Request: r, Replaced: true}
}

// wantedKinds returns the kinds of request that the hub Application has.
func wantedKinds(app *argocd.Application) []string {
	var kinds []string
	for _, kind := range []string{KindOperation, KindRefresh} {
		if contentOf(app, kind) != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// contentOf returns the content of a kind of request on the hub Application, or "".
func contentOf(app *argocd.Application, kind string) string {
	switch {
	case kind == KindRefresh:
		return app.Annotations[argocd.RefreshAnnotation]
	case kind == KindOperation && string(app.Operation) != "null":
		return string(app.Operation)
	}
	return ""
}
