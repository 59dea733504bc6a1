// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// A refresh that comes alone is asked for by every push to git, and twice does no harm:
// it goes without a claim, and two writes are enough.
//
//	hub: refresh     -> the work carries it, with an identity that makes the agent apply it
//	feedback: done   -> the refresh leaves the Application, with the status that it led to
//
// The first is the only way to the managed cluster. The second is what Argo CD's clients
// wait for: the cluster has compared. It also lets the next push be a change of
// the Application. That the refresh at hand is the one in the work, and not a later one, is
// remembered by the process that sent it: another process sends it once more. The work
// keeps a refresh that has been until something else in it changes. The agent does not
// apply it again meanwhile, for the manifest stays the same.

// RefreshAnnotations are what a refresh is asked for with, and leaves with it.
func RefreshAnnotations() []string {
	return []string{argocd.RefreshAnnotation, argocd.HydrateAnnotation}
}

// IsRefresh reports whether an identity is that of a refresh that came alone.
func IsRefresh(id string) bool { return strings.HasPrefix(id, KindRefresh+"-") }

// isRefresh reports whether a refresh is all that is asked for.
func isRefresh(wanted []string) bool { return len(wanted) == 1 && wanted[0] == KindRefresh }

// planRefresh sees a refresh through that comes alone. Nothing waits for it.
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
