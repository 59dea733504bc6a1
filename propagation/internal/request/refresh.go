// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// A refresh without an operation is requested by every push to git, and repeating it does no harm. So
// it needs no claim and only two writes:
//
// 	hub: refresh     -> the work carries it, with an identity that makes the agent apply it
// 	feedback: done   -> the refresh leaves the Application, with the status that it led to
//
// The first write is the only way to the managed cluster. Clients of Argo CD wait for the second one:
// the cluster has compared. It also makes the next push a change of the Application again.
//
// The process that sent a refresh remembers that the work carries this refresh and not a later one.
// Another process sends it once more. The work keeps a finished refresh until something else in it
// changes. Meanwhile the agent does not apply it again, because the manifest does not change.

// RefreshAnnotations are the annotations of a refresh. They are removed with it.
func RefreshAnnotations() []string {
	return []string{argocd.RefreshAnnotation, argocd.HydrateAnnotation}
}

// IsRefresh reports whether an identity belongs to a refresh without an operation.
func IsRefresh(id string) bool { return strings.HasPrefix(id, KindRefresh+"-") }

// isRefresh reports whether a refresh is the only request.
func isRefresh(wanted []string) bool { return len(wanted) == 1 && wanted[0] == KindRefresh }

// planRefresh plans the next step of a refresh without an operation. Nothing waits for it.
func planRefresh(app *argocd.Application, work *manifestcache.Work, k Known) Plan {
	if k.Refreshed {
		return Plan{}
	}
	r := Request{ID: k.Refreshing, Refresh: app.Annotations[argocd.RefreshAnnotation]}
	if same, _ := unchanged(app, r.ID); r.ID == "" || len(same) == 0 {
		r.ID = newClaim(app, []string{KindRefresh})
	}
	sent := sentWith(work)
	switch {
	case sent != "" && !IsRefresh(sent):
		return planAfter(r, sent, work, k.Unseen)
	case sent == r.ID && feedbackOf(work).finished(sent, kindsOf(sent)):
		return Plan{Step: StepFinish, Request: r, Done: []string{KindRefresh}}
	}
	return Plan{Request: r}
}
