// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"slices"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// release decides when the finalizers of Argo CD are removed from a deleted Application. It waits
// for proven works only, because an agent can have any work of its cluster name an Application.
func (e *evaluation) release() {
	app := e.facts.Application
	if app == nil || app.DeletionTimestamp == nil || !slices.ContainsFunc(app.Finalizers, payload.IsArgoFinalizer) {
		return
	}
	proven := slices.DeleteFunc(slices.Clone(e.subjects), func(s *subject) bool { return !s.fate.Own || !s.work.Cluster.Exists })
	switch {
	case len(proven) == 0:
		// The hub's own Argo CD releases an Application that was never delivered.
		if mustRelease(app) || e.plan.Deliveries > 0 {
			e.plan.Release = AfterProof
		}
	case slices.ContainsFunc(proven, func(s *subject) bool { return s.fate.Override.Effect == Undo }):
		e.plan.Release = Undone
	case ownPolicy(&e.facts).Abandon && !slices.ContainsFunc(proven, (*subject).isHeld):
		e.plan.Release = Abandoned
	}
}

// isHeld reports whether a pause, an override or the budget keeps a work.
func (s *subject) isHeld() bool {
	t := s.fate
	return t.Act != Leave && (t.Delayed.By != "" || t.Lane.Kind != Uncounted && !s.work.Note.Allowed)
}

// mustRelease reports whether only propagation can release a deleted Application. It is pulled, or
// it names a cluster and makes the hub's own Argo CD skip it.
func mustRelease(app *argocd.Application) bool {
	return contract.IsPulled(app.Labels) || app.Annotations[contract.ClusterAnnotation] != "" && argocd.SkipsReconcile(app.Annotations)
}

// ConfirmedBy returns the plan with the removals that a second plan, made with facts from the API
// server, also has in the same lane. The details of a removal come from the second plan.
func (p Plan) ConfirmedBy(live Plan) Plan {
	confirmed := p
	confirmed.Fates = slices.Clone(p.Fates)
	for i := range confirmed.Fates {
		t := &confirmed.Fates[i]
		if t.Act != End {
			continue
		}
		j := slices.IndexFunc(live.Fates, func(o Fate) bool { return o.UID == t.UID })
		if j < 0 || live.Fates[j].Act != End || !live.Fates[j].Due || live.Fates[j].Lane != t.Lane {
			t.Act, t.Due = Keep, false
			confirmed.again(afterUnseen) // one of the two is behind
			continue
		}
		*t = live.Fates[j]
	}
	confirmed.Report = live.Report
	if live.Release != p.Release { // the cache does not have all works yet
		confirmed.Release, confirmed.Report = NoRelease, cmp.Or(live.left, live.Report)
		confirmed.again(afterUnseen)
	}
	confirmed.again(live.After)
	return confirmed
}

// Destroys reports whether a plan has steps that the API server has to confirm.
func (p Plan) Destroys(v Verdict) bool {
	return p.Release != NoRelease || slices.ContainsFunc(p.Fates, v.May)
}
