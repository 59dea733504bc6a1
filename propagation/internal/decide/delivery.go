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

// delivery is the desired delivery of a living Application.
type delivery struct {
	e        *evaluation
	app      *argocd.Application
	identity types.NamespacedName
	// current is the work that delivers the Application to its target, or nil.
	current *subject
}

// follow decides about the works that may stay where they are.
func (d *delivery) follow() {
	switch {
	case d.app.DeletionTimestamp != nil:
		d.e.outcome.deleting = true
		d.e.end(Deleting)
		return
	case off(d.e.facts) != nil:
		d.e.outcome.off, d.e.outcome.refusal = true, off(d.e.facts)
		d.e.end(TurnedOff)
		return
	}
	if d.e.outcome.refusal = refused(d.e.facts); d.e.outcome.refusal != nil {
		return
	}
	d.mend()
	d.current = d.find()
	if d.e.outcome.refusal = d.observesDelivered(); d.e.outcome.refusal != nil {
		return
	}
	if d.taken() {
		return
	}
	if own := d.ending(); own != nil && d.current == nil {
		d.e.outcome.refusal = policy.Refuse(policy.ReasonWaitingForOld,
			"not delivered yet: cluster %q has not finished removing the earlier copy (ManifestWork %s)", own.work.Namespace, own.work.Name)
	} else {
		d.write()
	}
	d.leaveFormer()
}

// find returns the work that delivers the Application to its target, or nil.
func (d *delivery) find() *subject {
	kept := slices.DeleteFunc(d.e.kept(), func(s *subject) bool { return !s.fate.Own })
	current := payload.CurrentWork(d.app, cachedWorks(kept))
	for _, s := range kept {
		if s.work.Work == current {
			return s
		}
	}
	return nil
}

// wanted reports whether a subject is a work of this Application with the desired identity.
func (d *delivery) hasIdentity(s *subject) bool {
	return s.fate.Own && payload.IsCurrent(d.app, s.work.Work)
}

// ending returns an own work of the desired identity that is being removed, or nil.
func (d *delivery) ending() *subject {
	for _, s := range d.e.subjects {
		if (s.fate.Act == End || s.fate.Act == Leave) && d.hasIdentity(s) {
			return s
		}
	}
	return nil
}

// mend keeps the desired work if it would be removed only for the AppProject that it carries. The
// next write replaces that AppProject. If no write follows, mend keeps the work for one more grace
// period.
func (d *delivery) mend() {
	for _, s := range d.e.subjects {
		t := s.fate
		since, only := t.Clocks[ProjectNotAllowed], len(t.Clocks) == 1
		if t.Act != End || t.Why != ProjectNotAllowed || !only || !d.hasIdentity(s) || payload.Observes(d.app) {
			continue
		}
		if d.e.facts.Now.Sub(since) < 2*d.e.facts.Settings.BindingGrace && s.paused(Deliver).Mode == "" && !d.unwritable() {
			t.Act, t.Due = Keep, false
		}
	}
}

// unwritable reports whether the desired work cannot be written.
func (d *delivery) unwritable() bool {
	d.current = d.first()
	_, refusal := d.desired().build()
	_, taken := d.owner(d.current)
	d.current = nil
	return refusal != nil || taken || tooLarge(omitted(d.app), d.e.facts.Settings) != nil
}

// first returns a work of the desired identity, even if its removal is planned.
func (d *delivery) first() *subject {
	for _, s := range d.e.subjects {
		if s.fate.Act != Leave && d.hasIdentity(s) {
			return s
		}
	}
	return nil
}

// observesDelivered refuses to observe an Application that a work of the same hub Application
// delivers. The agent owns what it has applied, and would remove it when the work only reads.
func (d *delivery) observesDelivered() *policy.Decision {
	if !payload.Observes(d.app) {
		return nil
	}
	for _, s := range d.e.subjects {
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
func (d *delivery) owner(current *subject) (best Rival, taken bool) {
	me := Rival{UID: d.app.UID, Created: d.app.CreationTimestamp.Time}
	if current != nil {
		me.Copy = current.work.Name
	}
	for _, r := range d.e.facts.Rivals {
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
func (d *delivery) taken() bool {
	r, taken := d.owner(d.current)
	if !taken {
		return false
	}
	cluster := d.app.Annotations[contract.ClusterAnnotation]
	switch {
	case r.Waits == d.e.facts.Key:
		d.e.outcome.refusal = policy.Refuse(policy.ReasonWaitingForOld,
			"not delivered yet: Application %s has %s on cluster %q and waits for what this Application has; give one of them a third namespace there with annotation %s first",
			r.Key, d.identity, cluster, contract.AppNamespaceAnnotation)
	case !r.Wants:
		d.e.outcome.refusal = policy.Refuse(policy.ReasonWaitingForOld,
			"not delivered yet: cluster %q has not finished removing Application %s that %s left there (ManifestWork %s)", cluster, d.identity, r.Key, r.Copy)
	default:
		d.e.outcome.refusal = policy.Refuse(policy.ReasonTaken,
			"not delivered: Application %s already delivers %s on cluster %q; rename this Application, or give it another namespace there with annotation %s",
			r.Key, d.identity, cluster, contract.AppNamespaceAnnotation)
	}
	if !r.Wants || d.current == nil {
		return true
	}
	d.e.plan.again(afterRefusal)
	for _, s := range d.e.kept() {
		if r.Applied && d.hasIdentity(s) {
			s.endShared(Taken)
		}
	}
	return true
}

// runs reports whether the current work is applied and delivers, or observes, as desired.
func (d *delivery) runs() bool {
	return d.current != nil && d.current.work.Applied == metav1.ConditionTrue && d.current.observes() == payload.Observes(d.app)
}

// leaveFormer removes the works of earlier targets and identities. It waits until the current work
// is applied, so that there is no gap. A work that no agent has applied is removed at once.
func (d *delivery) leaveFormer() {
	for _, s := range d.e.kept() {
		if s == d.current {
			continue
		}
		exists := s.work.Namespace == d.app.Annotations[contract.ClusterAnnotation]
		switch {
		case !s.work.Finalized && s.work.Applied == "":
			s.endShared(NeverApplied)
		case s.observes() && (d.runs() || payload.Observes(d.app)):
			s.endShared(Observed)
		case !d.runs() || d.current.observes():
		case exists && payload.IsCurrent(d.app, s.work.Work):
			s.endShared(Replaced)
		case exists:
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

func (d *delivery) desired() *desiredWork {
	n := &desiredWork{facts: &d.e.facts, app: d.app, mark: markOf(&d.e.facts, d.e.facts.Owner, payload.NoMark)}
	if d.current != nil {
		n.current, n.mark = d.current.work, d.current.mark()
	}
	return n
}

// write plans the desired work, unless it is too large, refused or paused.
func (d *delivery) write() {
	n := d.desired()
	n.plan()
	d.e.outcome.refusal = tooLarge(omitted(d.app), d.e.facts.Settings)
	built, refusal := n.build()
	if d.e.outcome.refusal == nil {
		d.e.outcome.refusal = refusal
	}
	pause := pauseOn(&d.e.facts, d.e.facts.Target, d.e.facts.Owner, Deliver)
	ends := n.step.Step == request.StepFinish || n.step.Step == request.StepDrop
	switch {
	case payload.Observes(d.app) && d.e.outcome.refusal == nil && pause.Mode == "":
	case d.e.outcome.refusal != nil:
		if ends && d.current != nil { // its end does not depend on the refusal
			d.e.plan.Request = &n.step
		}
		return
	case pause.Mode != "" && n.step.Step == request.StepFinish && n.facts.Request.Claim == "":
		d.e.plan.Request = &n.step // this step writes no ManifestWork
		return
	case pause.Mode != "":
		d.e.outcome.delivers, d.e.outcome.pause, d.e.outcome.warnings = true, pause, n.warnings()
		d.e.plan.Waits = d.waiting(n)
		d.e.plan.again(n.after)
		return
	case ends || n.step.Step == request.StepClaim:
		d.e.plan.Request = &n.step
		return
	}
	d.e.plan.RefreshDone = n.doneID
	d.e.plan.again(n.after)
	d.e.outcome.delivers, d.e.outcome.warnings = true, append(n.notes(), n.warnings()...)
	d.e.plan.Write = &Write{Current: n.current, Inputs: n.inputs(n.step.Request), Desired: built, Request: n.step}
	if d.current != nil {
		d.current.fate.Act = Rewrite
	}
}

// waiting counts the changes that a pause delays: removals of former works, a request, and a write
// of the ManifestWork.
func (d *delivery) waiting(n *desiredWork) (count int) {
	for _, s := range d.e.subjects {
		if s != d.current && !s.terminating() && s.fate.Why == "" {
			count++
		}
	}
	if d.current == nil {
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
