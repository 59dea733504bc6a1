// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// wish is the desired delivery of a living Application.
type wish struct {
	d        *decision
	app      *argocd.Application
	identity types.NamespacedName
	// current is the work that delivers the Application to its target, or nil.
	current *subject
}

// follow decides about the works that may stay where they are.
func (w *wish) follow() {
	switch {
	case w.app.DeletionTimestamp != nil:
		w.d.outcome.deleting = true
		w.d.end(Deleting)
		return
	case off(w.d.facts) != nil:
		w.d.outcome.off, w.d.outcome.refusal = true, off(w.d.facts)
		w.d.end(TurnedOff)
		return
	}
	if w.d.outcome.refusal = refused(w.d.facts); w.d.outcome.refusal != nil {
		return
	}
	w.mend()
	w.current = w.find()
	if w.d.outcome.refusal = w.observesDelivered(); w.d.outcome.refusal != nil {
		return
	}
	if w.taken() {
		return
	}
	if own := w.ending(); own != nil && w.current == nil {
		w.d.outcome.refusal = policy.Refuse(policy.ReasonWaitingForOld,
			"not delivered yet: cluster %q has not finished removing the earlier copy (ManifestWork %s)", own.work.Namespace, own.work.Name)
	} else {
		w.write()
	}
	w.leaveFormer()
}

// find returns the work that delivers the Application to its target, or nil.
func (w *wish) find() *subject {
	kept := slices.DeleteFunc(w.d.kept(), func(s *subject) bool { return !s.fate.Own })
	current := payload.CurrentWork(w.app, cachedWorks(kept))
	for _, s := range kept {
		if s.work.Work == current {
			return s
		}
	}
	return nil
}

// wanted reports whether a subject is a work of this Application with the desired identity.
func (w *wish) wanted(s *subject) bool {
	return s.fate.Own && payload.IsCurrent(w.app, s.work.Work)
}

// ending returns an own work of the desired identity that is being removed, or nil.
func (w *wish) ending() *subject {
	for _, s := range w.d.subjects {
		if (s.fate.Act == End || s.fate.Act == Leave) && w.wanted(s) {
			return s
		}
	}
	return nil
}

// mend keeps the desired work if it would be removed only for the AppProject that it carries. The
// next write replaces that AppProject. If no write follows, mend keeps the work for one more grace
// period.
func (w *wish) mend() {
	for _, s := range w.d.subjects {
		t := s.fate
		since, only := t.Clocks[ProjectNotAllowed], len(t.Clocks) == 1
		if t.Act != End || t.Why != ProjectNotAllowed || !only || !w.wanted(s) || payload.Observes(w.app) {
			continue
		}
		if w.d.facts.Now.Sub(since) < 2*w.d.facts.Settings.BindingGrace && s.paused(Deliver).Word == "" && !w.unwritable() {
			t.Act, t.Due = Keep, false
		}
	}
}

// unwritable reports whether the desired work cannot be written.
func (w *wish) unwritable() bool {
	w.current = w.first()
	_, refusal := w.want().build()
	_, taken := w.holder(w.current)
	w.current = nil
	return refusal != nil || taken || tooLarge(omitted(w.app), w.d.facts.Settings) != nil
}

// first returns a work of the desired identity, even if its removal is planned.
func (w *wish) first() *subject {
	for _, s := range w.d.subjects {
		if s.fate.Act != Leave && w.wanted(s) {
			return s
		}
	}
	return nil
}

// observesDelivered refuses to observe an Application that a work of the same hub Application
// delivers. The agent owns what it has applied, and would remove it when the work only reads.
func (w *wish) observesDelivered() *policy.Decision {
	if !payload.Observes(w.app) {
		return nil
	}
	for _, s := range w.d.subjects {
		if s.fate.Own && !s.terminating() && !s.observes() {
			return policy.Refuse(policy.ReasonInvalidTarget,
				"annotation %s is %s, but the Application is delivered to cluster %q (ManifestWork %s); remove the annotation; to observe the workload, first hand it over: set annotation %s to %s, then delete this Application and create it again",
				contract.ManagementPolicyAnnotation, payload.ManagementObserve, s.work.Namespace, s.work.Name, contract.DeletionPolicyAnnotation, payload.DeletionOrphan)
		}
	}
	return nil
}

// holder returns the rival that owns the desired identity. A rival with a delivery comes before a
// rival without one. Otherwise the older Application comes first. A delivery without an Application
// has to be removed first.
func (w *wish) holder(current *subject) (best Rival, taken bool) {
	me := Rival{UID: w.app.UID, Created: w.app.CreationTimestamp.Time}
	if current != nil {
		me.Copy = current.work.Name
	}
	for _, r := range w.d.facts.Rivals {
		holds := r.Copy != "" && me.Copy == "" || r.Wants && (r.Copy != "") == (me.Copy != "") && older(r, me)
		if holds && (!taken || precedes(r, best)) {
			best, taken = r, true
		}
	}
	return best, taken
}

// older reports whether a was created before b. The UID decides if both have the same time.
func older(a, b Rival) bool {
	if a.Created.Equal(b.Created) {
		return a.UID < b.UID
	}
	return a.Created.Before(b.Created)
}

// precedes reports whether a message names a rather than b. An Application comes before a copy
// without one, then one with a copy, then the older one.
func precedes(a, b Rival) bool {
	if a.Wants != b.Wants {
		return a.Wants
	}
	if (a.Copy != "") != (b.Copy != "") {
		return a.Copy != ""
	}
	return older(a, b)
}

// taken refuses a desired identity that another Application owns. The Application's own copy is
// removed once the owner's copy is applied, so that no workload is lost.
func (w *wish) taken() bool {
	r, taken := w.holder(w.current)
	if !taken {
		return false
	}
	cluster := w.app.Annotations[contract.ClusterAnnotation]
	if !r.Wants {
		w.d.outcome.refusal = policy.Refuse(policy.ReasonWaitingForOld,
			"not delivered yet: cluster %q has not finished removing Application %s that %s left there (ManifestWork %s)", cluster, w.identity, r.Key, r.Copy)
		return true
	}
	w.d.outcome.refusal = policy.Refuse(policy.ReasonTaken,
		"not delivered: Application %s already delivers %s on cluster %q; rename this Application, or give it another namespace there with annotation %s",
		r.Key, w.identity, cluster, contract.AppNamespaceAnnotation)
	if r.Waits == w.d.facts.Key {
		w.d.outcome.refusal = policy.Refuse(policy.ReasonWaitingForOld,
			"not delivered yet: Application %s has %s on cluster %q and waits for what this Application has; give one of them a third namespace there with annotation %s first",
			r.Key, w.identity, cluster, contract.AppNamespaceAnnotation)
	}
	if w.current == nil {
		return true
	}
	w.d.plan.again(afterRefusal)
	for _, s := range w.d.kept() {
		if r.Applied && w.wanted(s) {
			s.endShared(Taken)
		}
	}
	return true
}

// runs reports whether the current work is applied and delivers, or observes, as desired.
func (w *wish) runs() bool {
	return w.current != nil && w.current.work.Applied == metav1.ConditionTrue && w.current.observes() == payload.Observes(w.app)
}

// leaveFormer removes the works of earlier targets and identities. It waits until the current work
// is applied, so that there is no gap. A work that no agent has applied is removed at once.
func (w *wish) leaveFormer() {
	for _, s := range w.d.kept() {
		if s == w.current {
			continue
		}
		there := s.work.Namespace == w.app.Annotations[contract.ClusterAnnotation]
		switch {
		case !s.work.Finalized && s.work.Applied == "":
			s.endShared(NeverApplied)
		case s.observes() && (w.runs() || payload.Observes(w.app)):
			s.endShared(Observed)
		case !w.runs() || w.current.observes():
		case there && payload.IsCurrent(w.app, s.work.Work):
			s.endShared(Replaced)
		case there:
			s.end(Renamed)
		default:
			s.end(Retargeted)
		}
	}
}

func cachedWorks(subjects []*subject) (list []*manifestcache.Work) {
	for _, s := range subjects {
		list = append(list, s.work.Work)
	}
	return list
}

func (w *wish) want() *want {
	n := &want{facts: &w.d.facts, app: w.app, mark: markOf(&w.d.facts, w.d.facts.Owner, payload.NoMark)}
	if w.current != nil {
		n.current, n.mark = w.current.work, w.current.mark()
	}
	return n
}

// write plans the desired work, unless it is too large, refused or paused.
func (w *wish) write() {
	n := w.want()
	n.plan()
	w.d.outcome.refusal = tooLarge(omitted(w.app), w.d.facts.Settings)
	built, refusal := n.build()
	if w.d.outcome.refusal == nil {
		w.d.outcome.refusal = refusal
	}
	pause := pauseOn(&w.d.facts, w.d.facts.Target, w.d.facts.Owner, Deliver)
	ends := n.step.Step == request.StepFinish || n.step.Step == request.StepDrop
	switch {
	case payload.Observes(w.app) && w.d.outcome.refusal == nil && pause.Word == "":
	case w.d.outcome.refusal != nil:
		if ends && w.current != nil { // its end does not depend on the refusal
			w.d.plan.Request = &n.step
		}
		return
	case pause.Word != "" && n.step.Step == request.StepFinish && n.facts.Request.Claim == "":
		w.d.plan.Request = &n.step // this step writes no ManifestWork
		return
	case pause.Word != "":
		w.d.outcome.delivers, w.d.outcome.pause, w.d.outcome.warnings = true, pause, n.warnings()
		w.d.plan.Waits = w.waiting(n)
		w.d.plan.again(n.after)
		return
	case ends || n.step.Step == request.StepClaim:
		w.d.plan.Request = &n.step
		return
	}
	w.d.plan.RefreshDone = n.doneID
	w.d.plan.again(n.after)
	w.d.outcome.delivers, w.d.outcome.warnings = true, append(n.notes(), n.warnings()...)
	w.d.plan.Write = &Write{Current: n.current, Inputs: n.inputs(n.step.Request), Want: built, Request: n.step}
	if w.current != nil {
		w.current.fate.Act = Rewrite
	}
}

// waiting counts the changes that a pause delays: removals of former works, a request, and a write
// of the ManifestWork.
func (w *wish) waiting(n *want) (count int) {
	for _, s := range w.d.subjects {
		if s != w.current && !s.terminating() && s.fate.Why == "" {
			count++
		}
	}
	if w.current == nil {
		return count + 1
	}
	another := n.step.Step != request.StepSend && n.step.Step != request.StepHold || n.step.Replaced
	if another {
		count++
	}
	if n.changes(another) {
		count++
	}
	return count
}
