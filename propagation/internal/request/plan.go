// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Kinds of request.
const (
	KindOperation = "operation"
	KindRefresh   = "refresh"

	terminateSuffix = "/terminate"
)

// Step is what to do next about the request of an Application.
type Step int

// Steps.
const (
	StepSend   Step = iota // the work is to carry Plan.Request, which may be none
	StepClaim              // give the request an identity
	StepHold               // leave the Application in the work as it is: the managed cluster is at it
	StepFinish             // the request is done: remove Plan.Done and the claim
	StepDrop               // the request was taken back, or never sent: remove the claim
)

// Plan says what to do about a request.
type Plan struct {
	Step    Step
	Request Request
	// Replaced: the hub has another operation or refresh by now than the work, whose
	// own is to be kept. It is next.
	Replaced bool
	// Done are the kinds of the request that leave the hub with it.
	Done []string
}

// Known is what is known of a request beside the Application and the work.
type Known struct {
	// Claim is that on the Application, "" without one.
	Claim string
	// Unseen: the managed cluster cannot have seen what was claimed, unless its feedback
	// says that it has.
	Unseen bool
	// Refreshing is the identity that this process has given to the refresh that the
	// Application asks for and nothing else with it. Refreshed: it has ended that one, and
	// the Application is from before.
	Refreshing string
	Refreshed  bool
}

// PlanFor decides from the Application, what is known of its request, and the work that
// carries it, which may be nil.
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
	case strings.TrimSuffix(sent, terminateSuffix) == claim:
		return planSent(app, r, sent, same, work, k.Unseen)
	case len(same) < len(kinds):
		return Plan{Step: StepDrop, Request: r} // nothing of it was sent
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

// planSent sees a request through that the work carries; same are the kinds of it that
// the hub still has.
func planSent(app *argocd.Application, r Request, sent string, same []string, work *manifestcache.Work, unseen bool) Plan {
	kinds := kindsOf(r.ID)
	changed := len(same) < len(kinds)
	reported := feedbackOf(work)
	switch {
	case reported.finished(sent, kinds):
		return Plan{Step: StepFinish, Request: r, Done: same}
	case sent == r.ID && r.Operation != nil && terminates(app, reported) && reported.running(sent):
		r.ID += terminateSuffix
		r.StartedAt = reported.startedAt
		return Plan{Request: r, Replaced: changed}
	case reported.applied(sent):
	case notApplied(work):
		// The managed cluster refused it: a better one must not wait for it.
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

// terminates reports whether a user asked to terminate the operation that runs on the cluster:
// the status on the hub may still be of the one before.
func terminates(app *argocd.Application, f feedback) bool {
	startedAt, yes := terminated(app)
	return yes && (startedAt == "" || startedAt == f.startedAt)
}

// planAfter sends a request to a work that may have an earlier one: that runs first,
// for Argo CD loses an operation that is put in the place of a running one. For a refresh
// alone none has to wait.
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

// wantedKinds returns what the hub Application asks for.
func wantedKinds(app *argocd.Application) []string {
	var kinds []string
	for _, kind := range []string{KindOperation, KindRefresh} {
		if contentOf(app, kind) != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// contentOf returns what the hub Application asks for of a kind, "" for nothing.
func contentOf(app *argocd.Application, kind string) string {
	switch {
	case kind == KindRefresh:
		return app.Annotations[argocd.RefreshAnnotation]
	case kind == KindOperation && string(app.Operation) != "null":
		return string(app.Operation)
	}
	return ""
}
