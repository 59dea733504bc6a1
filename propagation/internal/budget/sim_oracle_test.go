// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// judge receives each deletion of a work. It decides from the true state of the world whether the deletion is
// permitted, not from the decisions of propagation.
func (w *world) judge(k *work, t decide.Fate) {
	if w.spokes[k.obj.Namespace].hostile {
		return // the agent of this cluster could delete it anyway
	}
	a := w.apps[k.truth]
	abandoned := a != nil && a.deleting && a.abandon // overrides do not apply to it, pauses do
	byAdmin := w.holds(w.spaces[k.truth.Namespace], abandoned) || w.holds(w.spaces[hubSpace], abandoned)
	byTenant, policy := w.tenantSays(k, a, abandoned)
	since, unpermitted := w.unpermitted[k.uid()]
	revoked := unpermitted && !w.permittedIn[k.uid()] && w.now-since >= 300
	excuse, expected := "", "keep"
	cascade := a != nil && a.finalizer
	switch other := w.runs(a, k); {
	case w.clusters[k.obj.Namespace].leaving:
		excuse, expected = "leaving", ""
	case w.spokes[k.obj.Namespace].seen[k.uid()] == nil && !k.finalized() || k.observes():
		excuse, expected = "nothing is there", ""
	case revoked:
		excuse = "revoked"
		if byAdmin {
			w.fail("PAUSE: %s is revoked (%s) although an administrator holds it", k.uid(), t.Why)
		}
	case a == nil && w.now-w.gone[k.truth] >= 5:
		excuse = "gone"
	case a != nil && (a.deleting || a.label == "false" || a.label == "true" && a.cluster == ""):
		excuse = "wish"
	case other != nil:
		excuse = "moved"
		if other.obj.Namespace != k.obj.Namespace {
			break
		}
		cascade = false
		if other.identity() == k.identity() {
			byTenant, byAdmin, expected = false, false, "" // the other work owns the identity as well
		} else if t.How.Orphan {
			w.fail("BESIDE: %s stays beside %s, both with the same resources", k.uid(), other.uid())
		}
	case w.takenFrom(a, k):
		excuse, byTenant, byAdmin, expected = "taken", false, false, ""
	}
	switch {
	case excuse == "":
		w.fail("LOSS: %s (%v on %s) is deleted as %s without a reason", k.uid(), k.truth, k.obj.Namespace, t.Why)
		return
	case excuse != "revoked" && (byTenant || byAdmin) && expected != "":
		w.fail("PAUSE: %s (%v on %s) is withdrawn (%s, %s) although it is paused or held: by its tenant %t, by an administrator %t", k.uid(), k.truth, k.obj.Namespace, excuse, t.Why, byTenant, byAdmin)
	case expected != "" && cascade && policy != "orphan":
		expected = "prune"
	}
	w.how[k.uid()] = expected
}

func (w *world) holds(s *words, abandoned bool) bool {
	return s.paused(w.now) || !abandoned && s.keeps(w.now)
}

// tenantSays returns whether the tenant delays a removal, and the deletion policy.
func (w *world) tenantSays(k *work, a *app, abandoned bool) (delays bool, says string) {
	if a != nil {
		delays, says = a.paused(w.now), a.policy
	}
	set := w.sets[key{Namespace: k.truth.Namespace, Name: k.trueSet}]
	names := a == nil && k.obj.Annotations[contract.HostingAnnotation] == k.truth.Namespace+"/"+k.trueSet || a != nil && a.set == k.trueSet
	if set != nil && names && k.trueSet != "" {
		delays = delays || w.holds(set, abandoned)
		if says == "" {
			says = set.policy
		}
	}
	if w.promised[k.uid()] && a != nil && a.set == "" && says == "" {
		says = "orphan" // by the policy of its set, which was deleted with --cascade=orphan
	}
	return delays || says == "nonsense" && !abandoned, says
}

// runs returns another applied work with the desired identity of k's Application, or nil.
func (w *world) runs(a *app, k *work) *work {
	if a == nil {
		return nil
	}
	for _, o := range w.works {
		of := o.claims() == a.key || o.made == a.uid || o.obj.Annotations[contract.HubUIDAnnotation] == string(a.uid)
		if o.uid() != k.uid() && of && o.obj.Namespace == a.cluster && o.identity() == a.identity() && !o.going() && o.observes() == k.observes() && o.applied() == metav1.ConditionTrue {
			return o
		}
	}
	return nil
}

// takenFrom reports whether an applied work of another Application delivers the same identity there.
func (w *world) takenFrom(a *app, k *work) bool {
	if a == nil {
		return false
	}
	for _, o := range w.works {
		if o.uid() != k.uid() && o.obj.Namespace == k.obj.Namespace && o.identity() == k.identity() && o.claims() != k.claims() && !o.going() && o.applied() == metav1.ConditionTrue {
			return true
		}
	}
	return false
}

// save stores the state, and counts the deletions that were allowed since the last save.
func (w *world) save(after budget.Stored) bool {
	if w.noStore {
		return false
	}
	before := w.stored
	w.stored = after
	for _, uid := range after.Works() {
		note, k := after.Note(uid), w.works[uid]
		if !note.Allowed || before.Note(uid).Allowed || k == nil || w.spokes[k.obj.Namespace].hostile || w.approved(note.Lane, k) || note.Lane.Kind.OfCluster() {
			continue
		}
		kind := note.Lane.Kind
		w.count(fmt.Sprint(kind, note.Lane.Group), limits.Group.Of(w.most[fmt.Sprint(note.Lane.Group)]), note.Lane)
		w.count(fmt.Sprint(kind, "hub"), limits.Hub.Of(w.most["hub"]), note.Lane)
	}
	return true
}

func (w *world) count(name string, most int, lane decide.Lane) {
	w.counts[name] = append(w.counts[name], w.now)
	n := 0
	for _, t := range w.counts[name] {
		if w.now-t < 600 {
			n++
		}
	}
	if n > most {
		w.fail("BUDGET: %d of %s were allowed within the window, and the limit is %d: %v", n, name, most, lane)
	}
}

// approved reports whether an override lifts the limits.
func (w *world) approved(lane decide.Lane, k *work) bool {
	set := w.p.cache.sets[key{Namespace: lane.Group.Namespace, Name: lane.Group.Set}]
	return w.spaces[hubSpace].approves(w.now) || w.p.cache.spaces[hubSpace].approves(w.now) || w.p.cache.spaces[k.truth.Namespace].approves(w.now) || set != nil && set.approves(w.now)
}

// deliveries keeps the largest number of works of each group.
func (w *world) deliveries() {
	n := map[string]int{}
	for _, k := range w.works {
		n[fmt.Sprint(decide.Group{Namespace: k.truth.Namespace, Set: k.trueSet})]++
		n["hub"]++
	}
	for g, c := range n {
		w.most[g] = max(w.most[g], c)
	}
}

// settle runs all programs until nothing changes, and then checks the state.
func (w *world) settle() {
	p := w.p
	p.dies, p.dead = 0, false
	for range 60 {
		w.now += 21
		p.cache = w.clone()
		w.track()
		for _, k := range p.keys() {
			p.reconcile(k)
		}
		w.step()
		for _, c := range clusters {
			w.agent(c)
		}
		w.track()
		w.deliveries()
		if len(w.bad) > 0 {
			return
		}
	}
	p.cache = w.clone()
	w.metamorphic()
	fates, plans := map[types.UID]decide.Fate{}, map[key]decide.Plan{}
	for _, k := range p.keys() {
		_, plan, _ := p.plan(k)
		plans[k] = plan
		for _, t := range plan.Fates {
			fates[t.UID] = t
		}
	}
	for uid, k := range w.works {
		if !k.going() && !w.spokes[k.obj.Namespace].hostile {
			w.atRest(k, fates[uid])
		}
	}
	for k, a := range w.apps {
		w.released(a, plans[k])
		w.delivered(a, plans[k])
	}
}

// atRest checks the AppProject of a work, and its removal after a lost permission.
func (w *world) atRest(k *work, t decide.Fate) {
	p, q, a := w.p, w.projects[k.project], w.apps[k.truth]
	told := k.truth.Namespace == admins && a != nil && a.project == k.project || q != nil && q.admits[k.truth.Namespace]
	if told && !k.observes() && k.cached.Stored.ProjectHash != "" && !upToDate(k, q.object(k.project)) {
		w.fail("PROJECT: %s (%v on %s) keeps an old %s", k.uid(), k.truth, k.obj.Namespace, k.project)
	}
	since, unpermitted := w.unpermitted[k.uid()]
	if !unpermitted || w.permittedIn[k.uid()] || w.now-since < 360 || w.clusters[k.obj.Namespace].leaving {
		return
	}
	s := w.spokes[k.obj.Namespace]
	g := decide.Group{Namespace: k.truth.Namespace, Set: k.trueSet}
	own, hub := p.b.Held(t.Lane)
	held := t.Act == decide.End && t.Delayed.By == "" && t.Due && (own || hub)
	says := t.Act == decide.End && t.Delayed.By == "" && p.b.Note(k.uid()).Allowed
	switch {
	case w.holds(w.spaces[k.truth.Namespace], false), w.holds(w.spaces[hubSpace], false), says, s.away, s.refuses, w.noStore:
	case held && t.Lane.Kind.OfCluster():
	case held && own && t.Lane.Group == g && w.peak[g] <= limits.Group.Least:
		w.fail("REVOKE: %s (%v on %s) is held, and only %d of its group are revoked; lane %v", k.uid(), k.truth, k.obj.Namespace, w.peak[g], t.Lane)
	case held:
	default:
		w.fail("REVOKE: %s (%v on %s) is not permitted for %d s and stays: %+v", k.uid(), k.truth, k.obj.Namespace, w.now-since, t)
	}
}

// released checks that a deleted Application without own works is released.
func (w *world) released(a *app, plan decide.Plan) {
	own := false
	for _, o := range w.works {
		own = own || o.made == a.uid || o.obj.Annotations[contract.HubUIDAnnotation] == string(a.uid) || o.claims() == a.key && o.obj.Namespace == a.cluster
	}
	if a.deleting && a.finalizer && !own {
		w.fail("RELEASE: %v is deleted, has no work of its own, and stays: %+v", a.key, plan)
	}
}

// delivered checks that exactly one work delivers each desired Application that nothing delays.
func (w *world) delivered(a *app, plan decide.Plan) {
	if a.label != "true" || a.deleting || a.cluster == "" || a.malformed || a.large || a.observe {
		return
	}
	s, c, says := w.spokes[a.cluster], w.clusters[a.cluster], a.policy
	paused := a.paused(w.now) || w.spaces[a.key.Namespace].paused(w.now) || w.spaces[hubSpace].paused(w.now) || c.paused
	if set := w.sets[key{Namespace: a.key.Namespace, Name: a.set}]; set != nil && a.set != "" {
		paused = paused || set.paused(w.now)
		if says == "" {
			says = set.policy
		}
	}
	if paused || c.local || c.leaving || says == "nonsense" || s.away || s.refuses || s.hostile || !w.permitted(a.key.Namespace, a.cluster, a.project, a.identity()) {
		return
	}
	if plan.Report != nil && (plan.Report.Reason() == policy.ReasonTaken || plan.Report.Reason() == policy.ReasonWaitingForOld) {
		return
	}
	n := 0
	for _, o := range w.works {
		if o.claims() == a.key && o.obj.Namespace == a.cluster && o.identity() == a.identity() && !o.going() && o.applied() == metav1.ConditionTrue && o.revision == strconv.Itoa(a.spec) && o.project == a.project && o.automated {
			n++
		}
	}
	if n != 1 {
		w.fail("DELIVER: %v is delivered by %d works to %s: %+v", a.key, n, a.cluster, plan.Report)
	}
}

// metamorphic checks that writes of the hostile agent change no decision about another cluster. Applications
// for the hostile cluster are exempt.
func (w *world) metamorphic() {
	h := w.clone()
	for _, k := range h.works {
		if k.obj.Namespace == hostile {
			w.forge(k)
		}
	}
	h.clusters[hostile].paused, h.clusters[hostile].local = true, true
	for _, k := range w.p.keys() {
		if a := w.apps[k]; a != nil && (a.cluster == hostile || a.observe) {
			continue // an own work on any cluster prevents observe, so nothing is deleted
		}
		then := map[types.UID]decide.Fate{}
		for _, t := range decide.Decide(w.p.gather(h, k)).Fates {
			then[t.UID] = t
		}
		for _, t := range decide.Decide(w.p.gather(w.hub, k)).Fates {
			o := then[t.UID]
			same := o.Act == t.Act && o.Why == t.Why && fmt.Sprint(o.How) == fmt.Sprint(t.How) && o.Lane == t.Lane && o.Delayed == t.Delayed && o.Override == t.Override
			if w.works[t.UID].obj.Namespace != hostile && !same {
				w.fail("HOSTILE: an agent elsewhere changes %s (%v on %s) from %+v to %+v", t.UID, k, w.works[t.UID].obj.Namespace, t, o)
			}
			if next := decide.Decide(w.p.gather(w.hub, k)); len(next.Fates) == 0 || t.Next == decide.StepDelete && t.Act != decide.End {
				w.fail("FATES: %v", next)
			}
		}
	}
}

// forge changes a work as its agent may.
func (w *world) forge(k *work) {
	k.changeSpec(func(o *workv1.ManifestWork) {
		set := func(name, value string) {
			if delete(o.Annotations, name); value != "" {
				o.Annotations[name] = value
			}
		}
		set(contract.HostingAnnotation, pick(w, k.claims().Namespace+"/s1", k.claims().Namespace+"/s2", ""))
		set(contract.OnWithdrawAnnotation, pick(w, "", "orphan"))
		set(contract.OnWithdrawByAnnotation, pick(w, "", "set"))
		delete(o.Annotations, contract.HubUIDAnnotation)
		nameProject(o, pick(w, projects...))
	})
}
