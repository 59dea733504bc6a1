// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// process is propagation with a lagging cache and a budget.
type process struct {
	w     *world
	cache *hub
	b     *budget.Pure
	dies  int // writes until it is killed, 0 for never
	dead  bool
}

func newProcess(w *world) *process {
	p := &process{w: w, cache: w.clone()}
	stored := w.stored
	if w.mutant.forgets {
		stored = stored.Forget()
	}
	p.b = budget.NewPure(limits, stored, at(w.now), settings.BindingGrace)
	for _, k := range p.keys() { // one pass over the cache, before the budget decides
		p.plan(k)
	}
	return p
}

// keys returns the keys with an Application, a work or a plan.
func (p *process) keys() []key {
	m := map[key]bool{}
	for k := range p.cache.apps {
		m[k] = true
	}
	for _, k := range p.cache.works {
		m[k.claims()] = true
	}
	for _, k := range p.b.Keys() {
		m[k] = true
	}
	return slices.SortedFunc(maps.Keys(m), func(a, b key) int { return strings.Compare(a.String(), b.String()) })
}

// named reports whether an existing Application on the cluster generates the name of the work.
func (h *hub) named(k *work, now int) bool {
	for _, a := range h.apps {
		if a.uid == k.made && a.cluster == k.obj.Namespace && contract.IsPulled(map[string]string{contract.PullLabel: a.label}) && slices.Contains(payload.WorkNames(a.object(now)), k.obj.Name) {
			return true
		}
	}
	return false
}

// gather reads facts from the cache, or from the API server for the works in the cache.
func (p *process) gather(from *hub, k key) decide.Facts {
	now := p.w.now
	f := decide.Facts{Key: k, Now: at(now), Settings: settings, Namespace: said(from.spaces[k.Namespace], "Namespace "+k.Namespace, now), Hub: said(from.spaces[hubSpace], "Namespace hub", now), GoneSince: p.b.GoneSince(k)}
	a := from.apps[k]
	if a != nil {
		f.Application = a.object(now)
		f.Target = p.cluster(from, a.cluster)
		if q := from.projects[a.project]; q != nil {
			f.Project = q.object(a.project)
		}
		f.Settings = withNamespaces(f.Settings, from)
		f.May = f.Settings.Permission(decide.Place{Namespace: k.Namespace, Bound: from.bound[k.Namespace][a.cluster], ProjectName: a.project, Project: f.Project, Target: a.identity().Namespace})
		if a.set != "" {
			f.Owner = p.owner(from, k.Namespace, a.set)
		}
		f.Rivals = p.rivals(from, a)
	}
	f.Settings = withNamespaces(f.Settings, from)
	for _, uid := range p.cache.uids() {
		if p.cache.works[uid].claims() != k || from.works[uid] == nil {
			continue
		}
		if w, ours := p.facts(from, from.works[uid], f); ours {
			f.Works = append(f.Works, w)
		}
	}
	return f
}

// facts returns the facts of a work. ours is false if another Application owns the work by its name.
func (p *process) facts(from *hub, c *work, f decide.Facts) (w decide.Work, ours bool) {
	now, k := p.w.now, f.Key
	w = decide.Work{
		Work: c.cached, Cluster: p.cluster(from, c.obj.Namespace), Project: c.cached.Stored.Project, Finalized: c.finalized(),
		Applied: c.applied(), Note: p.b.Note(c.uid()),
	}
	if from != p.cache {
		w.Live = c.obj
	}
	ours = !from.named(c, now)
	if f.Application != nil {
		switch {
		case payload.IsOwnWork(f.Application, c.cached):
			w.Relation, ours = decide.Own, true
		case payload.Delivers(f.Application, c.cached):
			w.Relation, ours = decide.Adoptable, true
		}
	}
	place := decide.Place{Namespace: k.Namespace, Bound: from.bound[k.Namespace][c.obj.Namespace], ProjectName: w.Project}
	if existing, ok := c.cached.Delivers(); ok {
		place.Target = existing.Namespace
	}
	q := from.projects[w.Project]
	if q != nil {
		place.Project = q.object(w.Project)
		admitted := k.Namespace == admins && f.Application != nil && payload.ProjectName(f.Application) == w.Project || q.admits[k.Namespace] || from.names(c.obj.Namespace, w.Project)
		w.Stale = admitted && payload.Outdated(c.cached, place.Project, "")
	}
	w.May = f.Settings.Permission(place)
	if set, named := c.cached.ApplicationSet(); named && f.Application == nil {
		group := set.Name
		if w.Note.Known {
			group = w.Note.Group.Set
		}
		w.Set = p.owner(from, k.Namespace, group)
	} else if w.Note.Known && w.Note.Group.Set != "" && f.Application == nil {
		w.Set = p.owner(from, k.Namespace, w.Note.Group.Set)
	}
	if set, named := c.cached.ApplicationSet(); !w.Note.Known {
		w.Note.Group = decide.Group{Namespace: k.Namespace}
		if named {
			w.Note.Group.Set = set.Name
		}
	}
	return w, ours
}

func withNamespaces(s decide.Settings, from *hub) decide.Settings {
	var pairs []string
	for _, t := range tenants {
		for _, target := range sortedKeys(from.allowed[t]) {
			pairs = append(pairs, t+"="+target)
		}
	}
	if err := s.AppNamespaces.Set(strings.Join(pairs, ",")); err != nil {
		panic(err) // the world is invalid
	}
	return s
}

// names reports whether an Application on a cluster names an AppProject.
func (h *hub) names(cluster, project string) bool {
	for _, a := range h.apps {
		if a.cluster == cluster && a.project == project && a.label == "true" {
			return true
		}
	}
	return false
}

func said(s *words, on string, now int) decide.Annotations {
	w := decide.Annotations{On: on, Pause: policy.ParsePause(s.pauseValue(now), on, at(now))}
	w.Override, _ = decide.ParseOverride(s.wordValue(now), on, at(now))
	return w
}

func (p *process) owner(from *hub, ns, name string) *decide.Annotations {
	on := "ApplicationSet " + ns + "/" + name
	if s := from.sets[key{Namespace: ns, Name: name}]; s != nil {
		w := said(s, on, p.w.now)
		w.Policy = policy.ParseDeletionPolicy(s.policy, on, true)
		return &w
	}
	return p.b.Outlives(decide.Group{Namespace: ns, Set: name}, at(p.w.now))
}

func (p *process) cluster(from *hub, name string) decide.Cluster {
	c := decide.Cluster{Name: name}
	if o := from.clusters[name]; o != nil {
		c.Exists, c.Leaving, c.Hub = true, o.leaving, o.local
		if o.paused {
			c.Pause = policy.Pause{Mode: policy.PauseDelivery, By: "ManagedCluster " + name}
		}
	}
	return c
}

// rivals returns the other Applications that desire or deliver the identity of an Application.
func (p *process) rivals(from *hub, a *app) []decide.Rival {
	found := map[key]*decide.Rival{}
	of := func(k key) *decide.Rival {
		if found[k] == nil {
			found[k] = &decide.Rival{Key: k}
		}
		return found[k]
	}
	for _, uid := range from.uids() {
		k := from.works[uid]
		if k.obj.Namespace != a.cluster || k.identity() != a.identity() || k.claims() == a.key {
			continue
		}
		r, applied := of(k.claims()), !k.going() && k.applied() == metav1.ConditionTrue
		if r.Copy == "" || applied && !r.Applied {
			r.Copy, r.Applied = k.obj.Name, applied
		}
	}
	for k, b := range from.apps {
		if k == a.key || b.cluster != a.cluster || b.identity() != a.identity() || b.label != "true" {
			continue
		}
		if found[k] == nil && !p.deliverable(from, b) {
			continue
		}
		r := of(k)
		r.UID, r.Created, r.Wants = b.uid, at(b.created), !b.deleting
	}
	list := make([]decide.Rival, 0, len(found))
	for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b key) int { return strings.Compare(a.String(), b.String()) }) {
		list = append(list, *found[k])
	}
	return list
}

func (p *process) deliverable(from *hub, b *app) bool {
	f := decide.Facts{Key: b.key, Now: at(p.w.now), Settings: withNamespaces(settings, from), Application: b.object(p.w.now), Target: p.cluster(from, b.cluster)}
	if q := from.projects[b.project]; q != nil {
		f.Project = q.object(b.project)
	}
	f.May = f.Settings.Permission(decide.Place{Namespace: b.key.Namespace, Bound: from.bound[b.key.Namespace][b.cluster], ProjectName: b.project, Project: f.Project, Target: b.identity().Namespace})
	if b.set != "" {
		f.Owner = p.owner(from, b.key.Namespace, b.set)
	}
	return decide.Deliverable(f)
}

// plan decides from the cache, and gives the plan to the budget.
func (p *process) plan(k key) (decide.Facts, decide.Plan, decide.Verdict) {
	f := p.gather(p.cache, k)
	plan := p.w.mutant.decide(f)
	if len(plan.Fates) != len(f.Works) {
		p.w.fail("FATES: %d for %d works", len(plan.Fates), len(f.Works))
	}
	for i := range f.Works {
		w := &f.Works[i]
		if w.May == (decide.Permission{Bound: true, Project: true, Namespace: true}) && !w.Cluster.Hub {
			p.w.seenIn[w.UID] = true
			if p.w.permittedIn[w.UID] {
				delete(p.w.unpermitted, w.UID)
			}
		}
	}
	return f, plan, p.b.Set(plan, at(p.w.now))
}

// write performs one write, unless the process is killed before it.
func (p *process) write(do func()) {
	if p.dies > 0 {
		p.dies--
		p.dead = p.dead || p.dies == 0
	}
	if !p.dead {
		do()
	}
}

// reconcile gathers facts, decides and applies. It confirms deletions and releases with the API server first.
func (p *process) reconcile(k key) {
	f, plan, verdict := p.plan(k)
	if plan.Destroys(verdict) {
		plan = plan.ConfirmedBy(p.w.mutant.decide(p.gather(p.w.hub, k)))
	}
	app := p.cache.apps[k]
	// Deletions go first, because the write changes the current work on which they depend.
	for _, t := range plan.Fates {
		if verdict.May(t) && t.Next != decide.StepWait {
			p.write(func() { p.end(t) })
		}
	}
	if plan.Write != nil {
		p.write(func() { p.put(app, plan.Write) })
	}
	for i, t := range plan.Fates {
		goes := verdict.May(t) && t.Next == decide.StepDelete
		if (t.Project || t.Automation != decide.AutomationStays) && !goes {
			p.write(func() { p.refresh(f.Works[i], t) })
		}
	}
	if plan.Release != decide.NoRelease {
		p.write(func() { p.release(k, app, plan.Release) })
	}
}

// put creates or updates a work.
func (p *process) put(app *app, w *decide.Write) {
	h := p.w.hub
	if w.Current == nil {
		p.create(app, w)
		return
	}
	k := h.works[w.Current.UID]
	if k == nil || k.going() || k.obj.ResourceVersion != w.Current.ResourceVersion {
		return // a conflict
	}
	if payload.Observes(w.Inputs.Application) && !k.observes() {
		p.w.fail("OBSERVE: a delivering work %s is made to observe", k.uid())
	}
	hashes, err := payload.Compare(w.Current.Work, w.Desired, w.Request.Request)
	if err != nil {
		p.w.fail("WRITE: %v", err)
		return
	}
	same := w.Current.Stored.Hash == hashes.Spec
	patch, err := payload.Patch(w.Current.Work, w.Desired, !same, hashes.Base)
	if err != nil || patch == nil {
		return
	}
	change := k.change
	if !same {
		change = k.changeSpec
	}
	change(func(o *workv1.ManifestWork) {
		o.Labels, o.Annotations = maps.Clone(w.Desired.Labels), maps.Clone(w.Desired.Annotations)
		if !same {
			o.Spec = *w.Desired.Spec.DeepCopy()
		}
	})
}

// create creates a work under the first free name.
func (p *process) create(app *app, w *decide.Write) {
	h, o := p.w.hub, w.Desired.DeepCopy()
	taken := map[string]bool{}
	for _, k := range h.works {
		if k.obj.Namespace != app.cluster {
			continue
		}
		taken[k.obj.Name] = true
		if k.identity() == app.identity() {
			return // AlreadyExists, or a work of another Application that the cache does not have yet
		}
	}
	for _, name := range payload.WorkNames(w.Inputs.Application) {
		if taken[name] {
			continue
		}
		o.Name, o.UID, o.ResourceVersion, o.Generation, o.CreationTimestamp = name, p.w.id("w"), "1", 1, metav1.NewTime(at(p.w.now))
		if !payload.ProvenByName(w.Inputs.Application, name) {
			o.Annotations[contract.HubUIDAnnotation] = string(app.uid)
		}
		k := &work{obj: o, truth: app.key, trueSet: app.set, made: app.uid}
		k.read()
		h.works[o.UID] = k
		p.w.logf("create %s for %v on %s", o.UID, app.key, app.cluster)
		return
	}
}

// refresh updates the AppProject and the automation of a work.
func (p *process) refresh(w decide.Work, t decide.Fate) {
	k := p.w.works[t.UID]
	if k == nil || k.going() || k.obj.ResourceVersion != w.ResourceVersion {
		return
	}
	k.changeSpec(func(o *workv1.ManifestWork) {
		if q := p.cache.projects[w.Project]; t.Project && q != nil {
			_, err := payload.UpdateProject(&o.Spec, o.Namespace, "", q.object(w.Project))
			p.check(err)
		}
		switch t.Automation {
		case decide.AutomationOut:
			mark, err := payload.WithoutAutomation(&o.Spec)
			o.Annotations[contract.PausedAnnotation] = mark
			p.check(err)
		case decide.AutomationBack:
			p.check(payload.WithAutomation(&o.Spec, o.Annotations[contract.PausedAnnotation]))
			delete(o.Annotations, contract.PausedAnnotation)
		case decide.AutomationStays:
		}
	})
}

func (p *process) check(err error) {
	if err != nil {
		p.w.fail("WRITE: %v", err)
	}
}

// end writes into a work how it ends, or deletes the work.
func (p *process) end(t decide.Fate) {
	k := p.w.works[t.UID]
	if k == nil || k.going() {
		return
	}
	if t.Next == decide.StepWrite {
		spec, _, err := payload.EndingOf(k.obj, t.How)
		p.check(err)
		if err != nil {
			return
		}
		k.changeSpec(func(o *workv1.ManifestWork) {
			if mark, err := payload.WithoutAutomation(o.Spec.DeepCopy()); t.How.WithoutAutomation && err == nil && o.Annotations[contract.PausedAnnotation] == "" {
				o.Annotations[contract.PausedAnnotation] = mark
			}
			o.Spec = *spec
			payload.OnDelete(o, t.How.Orphan)
			delete(o.Annotations, contract.OnWithdrawByAnnotation)
			if t.How.Orphan && t.How.BySet {
				o.Annotations[contract.OnWithdrawByAnnotation] = string(payload.BySet)
			}
		})
		return
	}
	p.w.judge(k, t)
	p.w.logf("delete %s (%v on %s) %s %+v", k.uid(), k.truth, k.obj.Namespace, t.Why, t.How)
	if !k.finalized() {
		delete(p.w.works, t.UID)
		return
	}
	k.change(func(o *workv1.ManifestWork) { o.DeletionTimestamp = &metav1.Time{Time: at(p.w.now)} })
}

// release removes Argo CD's finalizers from a deleted Application.
func (p *process) release(k key, a *app, how decide.Release) {
	live := p.w.apps[k]
	if live == nil || a == nil || live.uid != a.uid || !live.deleting {
		return
	}
	delete(p.w.apps, k)
	if how != decide.AfterProof {
		return
	}
	for _, c := range p.w.works {
		if c.truth == k && c.made == a.uid && !p.w.spokes[c.obj.Namespace].hostile {
			p.w.fail("RELEASE: %v is released while %s exists", k, c.uid())
		}
	}
}

// agent runs the agent of a cluster once.
func (w *world) agent(name string) {
	s := w.spokes[name]
	if s.away {
		return
	}
	for _, uid := range w.uids() {
		k := w.works[uid]
		switch {
		case k.obj.Namespace != name:
		case k.going():
			w.finalize(s, k)
			delete(w.works, uid)
		case !k.finalized():
			k.change(func(o *workv1.ManifestWork) { o.Finalizers = []string{workv1.ManifestWorkFinalizer} })
		case s.refuses:
			w.report(k, metav1.ConditionFalse)
		default:
			w.report(k, metav1.ConditionTrue)
			s.apply(k)
		}
	}
}

// report writes the Applied condition and the feedback of an agent.
func (w *world) report(k *work, applied metav1.ConditionStatus) {
	if k.applied() == applied && k.obj.Status.Conditions[0].ObservedGeneration == k.obj.Generation {
		return
	}
	k.change(func(o *workv1.ManifestWork) {
		o.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: applied, ObservedGeneration: o.Generation}}
		if applied != metav1.ConditionTrue {
			return
		}
		request := "none"
		for _, name := range []string{"end-without-cascade", "stay-without-automation"} {
			if m := o.Spec.Workload.Manifests; strings.Contains(string(m[len(m)-1].Raw), name) {
				request = name
			}
		}
		o.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural},
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{{Name: contract.FeedbackRequest, Value: workv1.FieldValue{Type: workv1.String, String: &request}}}},
		}}
	})
}

func (s *spoke) apply(k *work) {
	seen := *k
	s.uids[k.made] = true
	s.seen[k.uid()] = &seen
	if k.observes() {
		return
	}
	d := s.copies[k.identity()]
	if d == nil {
		d = &delivery{owners: map[types.UID]bool{}}
		s.copies[k.identity()] = d
	}
	d.owners[k.uid()] = true
	d.content, d.truth = k.content, k.truth
	s.loads[k.truth] = true
}

// finalize removes the objects that a work has applied, according to the spec that was applied
// last.
func (w *world) finalize(s *spoke, k *work) {
	seen := s.seen[k.uid()]
	delete(s.seen, k.uid())
	if seen == nil || seen.observes() || !k.finalized() {
		return
	}
	d := s.copies[seen.identity()]
	if d == nil {
		return
	}
	delete(d.owners, k.uid())
	if seen.orphans() || len(d.owners) > 0 {
		return
	}
	delete(s.copies, seen.identity())
	if d.cascade {
		if w.how[k.uid()] == "keep" && !s.hostile {
			w.fail("LOSS: %v on %s is pruned by the end of %s, which had to keep it", d.truth, k.obj.Namespace, k.uid())
		}
		delete(s.loads, d.truth)
	}
}
