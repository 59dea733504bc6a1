// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// wish is what a living Application asks for.
type wish struct {
	d        *decision
	app      *argocd.Application
	identity types.NamespacedName
	// current stands for the Application on its target, nil for none.
	current *subject
}

// told is what a wish says of itself, for the report.
type told struct {
	// refusal is why it is not followed; nil: it is, or waits.
	refusal *policy.Decision
	// off: everything of it goes. deleting: the Application is being deleted.
	off, deleting bool
	// delivers: what is wanted is on the hub, or is written.
	delivers bool
	warnings []policy.Message
	// pause keeps the ManifestWork on the target as it is, the zero one for none.
	pause policy.Pause
}

// follow follows the wish for the works that may stay where they are.
func (w *wish) follow() {
	switch {
	case w.app.DeletionTimestamp != nil:
		w.d.told.deleting = true
		w.d.end(Deleting)
		return
	case off(w.d.facts) != nil:
		w.d.told.off, w.d.told.refusal = true, off(w.d.facts)
		w.d.end(TurnedOff)
		return
	}
	if w.d.told.refusal = refused(w.d.facts); w.d.told.refusal != nil {
		return
	}
	w.mend()
	w.current = w.find()
	w.d.current = w.current
	if w.d.told.refusal = w.observesDelivered(); w.d.told.refusal != nil {
		return
	}
	if w.taken() {
		return
	}
	if own := w.ending(); own != nil && w.current == nil {
		w.d.told.refusal = refuse(policy.ReasonWaitingForOld,
			"not delivered yet: cluster %q has not finished removing the earlier copy (ManifestWork %s)", own.work.Namespace, own.work.Name)
	} else {
		w.write()
	}
	w.leaveFormer()
}

// find returns the subject that stands for the Application on its target.
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

// wanted reports whether a subject is an own work of the wanted identity.
func (w *wish) wanted(s *subject) bool {
	return s.fate.Own && payload.IsCurrent(w.app, s.work.Work)
}

// ending returns an own work of the wanted identity that is on its way out, nil for none.
func (w *wish) ending() *subject {
	for _, s := range w.d.subjects {
		if (s.fate.Act == End || s.fate.Act == Leave) && w.wanted(s) {
			return s
		}
	}
	return nil
}

// mend lets the wish give an AppProject that admits it to the very work which would be revoked
// for the one that it carries: for one grace more, should that write not come about.
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

// unwritable reports whether the wanted work cannot be written.
func (w *wish) unwritable() bool {
	w.current = w.first()
	_, refusal := w.want().build()
	_, taken := w.holder(w.current)
	w.current = nil
	return refusal != nil || taken || tooLarge(manifestcache.OmittedSpec(w.app.Spec), w.d.facts.Settings) != nil
}

// first returns a work of the wanted identity, be it one that is to be mended.
func (w *wish) first() *subject {
	for _, s := range w.d.subjects {
		if s.fate.Act != Leave && w.wanted(s) {
			return s
		}
	}
	return nil
}

// observesDelivered refuses to observe what any own work delivers: the agent owns what it has
// applied, and would remove it with a work that only reads.
func (w *wish) observesDelivered() *policy.Decision {
	if !payload.Observes(w.app) {
		return nil
	}
	for _, s := range w.d.subjects {
		if s.fate.Own && !s.terminating() && !s.observes() {
			return refuse(policy.ReasonInvalidTarget,
				"annotation %s is %s, but the Application is delivered to cluster %q (ManifestWork %s), which keeps what was delivered before; remove the annotation, or delete this Application and make it again",
				contract.ManagementPolicyAnnotation, payload.ManagementObserve, s.work.Namespace, s.work.Name)
		}
	}
	return nil
}

// holder returns the rival to which the wanted identity belongs. One with a copy wins over one
// without, else the older. What is only a copy is waited for.
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

// older reports whether a came before b; of two of the same second the UID decides.
func older(a, b Rival) bool {
	if a.Created.Equal(b.Created) {
		return a.UID < b.UID
	}
	return a.Created.Before(b.Created)
}

// precedes reports whether a is named before b to one that is refused for both: one that asks
// before what is only left, then one with a copy, then the older.
func precedes(a, b Rival) bool {
	if a.Wants != b.Wants {
		return a.Wants
	}
	if (a.Copy != "") != (b.Copy != "") {
		return a.Copy != ""
	}
	return older(a, b)
}

// taken refuses a wish whose identity is another Application's. A copy that it has all the same
// goes once the other's is applied: then nothing is lost.
func (w *wish) taken() bool {
	r, taken := w.holder(w.current)
	if !taken {
		return false
	}
	cluster := w.app.Annotations[contract.ClusterAnnotation]
	if !r.Wants {
		w.d.told.refusal = refuse(policy.ReasonWaitingForOld,
			"not delivered yet: cluster %q has not finished removing Application %s that %s left there (ManifestWork %s)", cluster, w.identity, r.Key, r.Copy)
		return true
	}
	w.d.told.refusal = refuse(policy.ReasonTaken,
		"not delivered: Application %s already delivers %s on cluster %q; rename this Application, or give it another namespace there with annotation %s",
		r.Key, w.identity, cluster, contract.AppNamespaceAnnotation)
	if r.Waits == w.d.facts.Key {
		w.d.told.refusal = refuse(policy.ReasonWaitingForOld,
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

// runs reports whether the current work delivers what is wanted, or observes when that is wanted.
func (w *wish) runs() bool {
	return w.current != nil && w.current.work.Applied == metav1.ConditionTrue && w.current.observes() == payload.Observes(w.app)
}

// leaveFormer ends what an earlier wish left behind: once the present one runs, so that there is
// no gap, or at once where no agent has begun with it.
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
