// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The flags -sim.steps=200000 -sim.seed=2 simulate more worlds than the defaults.
var (
	simSteps = flag.Int("sim.steps", 20_000, "steps of the simulated hub")
	simSeed  = flag.Uint64("sim.seed", 1, "seed of its first world")
)

// stepsOfWorld is the number of steps of a world. Long worlds find faults of memory, many worlds rare starts.
const stepsOfWorld = 1500

// Decide and the budget keep their rules, whatever users, administrators, agents, stale caches and kills do.
func TestSimulation_keepsTheRules(t *testing.T) {
	for seed, n := *simSeed, 0; n < *simSteps; seed++ {
		w := newWorld(seed, mutant{})
		n += w.walk(min(stepsOfWorld, *simSteps-n))
		if len(w.bad) > 0 {
			t.Fatalf("seed %d: %s\n%s", seed, strings.Join(w.bad, "\n"), strings.Join(w.trace, "\n"))
		}
	}
}

func (w *world) some() *app {
	keys := slices.SortedFunc(maps.Keys(w.apps), func(a, b key) int { return strings.Compare(a.String(), b.String()) })
	if len(keys) == 0 {
		return nil
	}
	return w.apps[keys[w.r.IntN(len(keys))]]
}

func pick[T any](w *world, list ...T) T { return list[w.r.IntN(len(list))] }

func (w *world) newApp(ns, set string) {
	k := key{Namespace: ns, Name: fmt.Sprintf("a%d", w.r.IntN(9))}
	if w.apps[k] != nil {
		return
	}
	w.n++
	w.apps[k] = &app{
		uid: w.id("u"), key: k, label: "true", cluster: pick(w, clusters...), ns: pick(w, namespaces[:4]...), project: pick(w, projects...),
		finalizer: w.r.IntN(2) == 0, set: set, created: w.now, spec: w.n,
	}
}

func (w *world) until() int { return pick(w, 0, w.now+w.r.IntN(900)) }

func (w *world) remove(a *app) {
	if a.finalizer {
		a.deleting = true
	} else {
		delete(w.apps, a.key)
	}
}

func (w *world) theSet() (key, *words) {
	k := key{Namespace: pick(w, tenants...), Name: pick(w, "s1", "s2")}
	return k, w.sets[k]
}

// members returns the Applications of an ApplicationSet.
func (w *world) members(set key) (list []*app) {
	for _, a := range w.apps {
		if a.key.Namespace == set.Namespace && a.set == set.Name {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *app) int { return strings.Compare(a.key.Name, b.key.Name) })
	return list
}

// user performs one step of a tenant.
func (w *world) user() {
	a := w.some()
	if a == nil || len(w.apps) < 8 {
		w.newApp(pick(w, tenants...), "")
		return
	}
	if a.deleting {
		a.abandon = a.abandon || w.r.IntN(4) == 0
		return
	}
	pause := func() string { return pick(w, "", "delivery", "delivery", "sync") }
	switch w.r.IntN(26) {
	case 0:
		w.newApp(pick(w, tenants...), "")
	case 1, 2:
		a.cluster = pick(w, clusters...)
	case 3:
		a.ns = pick(w, namespaces...)
	case 4:
		a.project = pick(w, projects...)
	case 5:
		a.label = pick(w, "true", "true", "false", "yes")
	case 6, 7:
		a.pause, a.until = pause(), w.until()
	case 8:
		a.policy = pick(w, "", "", "prune", "orphan", "nonsense")
	case 9:
		a.observe = !a.observe && w.r.IntN(2) == 0
	case 10:
		a.large = !a.large && w.r.IntN(2) == 0
	case 11:
		a.malformed = !a.malformed && w.r.IntN(2) == 0
	case 12, 13:
		w.remove(a)
	case 14:
		a.finalizer = !a.finalizer
	case 15: // re-created
		b := *a
		b.uid, b.created = w.id("u"), w.now
		if w.r.IntN(2) == 0 {
			b.ns = pick(w, namespaces...)
		}
		w.apps[a.key] = &b
	case 21: // moves within an unreachable cluster
		if s := w.spokes[a.cluster]; s != nil && !s.hostile {
			s.away = true
		}
		a.words = words{policy: pick(w, "", "orphan")}
		a.ns = pick(w, namespaces...)
	case 16, 17, 18, 19, 20:
		w.userOfSet()
	default:
		w.n++
		a.spec = w.n
	}
}

// userOfSet performs one step of a tenant with an ApplicationSet.
func (w *world) userOfSet() {
	k, s := w.theSet()
	if s == nil {
		w.sets[k] = &words{}
		for range 6 {
			w.newApp(k.Namespace, k.Name)
		}
		return
	}
	switch w.r.IntN(4) {
	case 0:
		*s = words{pause: pick(w, "", "", "delivery"), until: w.until(), word: pick(w, decide.None, decide.Approve, decide.Hold, decide.Undo), ends: w.now + w.r.IntN(900), policy: pick(w, "", "", "", "orphan", "nonsense", "prune")}
	case 1: // deleted with or without its Applications
		orphan := w.r.IntN(3) == 0
		delete(w.sets, k)
		for _, a := range w.members(k) {
			if !orphan {
				w.remove(a)
				continue
			}
			for _, o := range w.works {
				if o.claims() == a.key && payload.MarkOf(o.obj.Annotations) == payload.BySet && s.policy == "orphan" {
					w.promised[o.uid()] = true
				}
			}
			a.set = ""
		}
	case 2: // an edit of its template moves or pauses all Applications
		c, p, pause := pick(w, clusters...), pick(w, projects...), pick(w, "", "", "delivery")
		for _, a := range w.members(k) {
			a.cluster, a.project, a.pause = c, p, pause
		}
	case 3: // many are deleted, and an administrator removes the tenant's binding to a cluster
		c, n := pick(w, clusters...), 0
		for _, a := range w.members(k) {
			if a.cluster != c && n < 5 {
				n++
				w.remove(a)
			}
		}
		w.bound[k.Namespace][c] = false
	}
}

// admin performs one step of an administrator.
func (w *world) admin() {
	t := pick(w, tenants...)
	switch w.r.IntN(9) {
	case 0, 1, 2:
		w.bound[t][pick(w, clusters...)] = w.r.IntN(3) > 0
	case 3:
		p := w.projects[pick(w, projects...)]
		p.admits[t] = w.r.IntN(3) > 0
		p.version++
	case 4:
		w.projects[pick(w, projects...)].version++
	case 5:
		w.allowed[t]["shared"] = w.r.IntN(3) > 0
	case 6:
		w.spaces[pick(w, append(slices.Clone(tenants), hubSpace)...)] = &words{
			pause: pick(w, "", "", "", "delivery"), until: w.now + w.r.IntN(900), word: pick(w, decide.None, decide.Approve, decide.Hold, decide.Undo), ends: w.now + w.r.IntN(900),
		}
	case 7:
		w.noStore = w.r.IntN(10) == 0
	case 8:
		w.clusters["c3"].local = !w.clusters["c3"].local && w.r.IntN(6) == 0
	}
}

// agents performs one step of an agent. The hostile agent writes everything that it may.
func (w *world) agents() {
	c := pick(w, clusters...)
	s := w.spokes[c]
	switch w.r.IntN(10) {
	case 0:
		s.away = !s.away && w.r.IntN(2) == 0
	case 1:
		s.refuses = !s.refuses && w.r.IntN(3) == 0
	case 2, 3, 4:
		w.forgery()
	default:
		w.agent(c)
	}
}

// forgery performs one step of the hostile agent.
func (w *world) forgery() {
	a, h, which := w.some(), w.clusters[hostile], w.r.IntN(6)
	switch which {
	case 0:
		h.local = w.r.IntN(3) == 0
		return
	case 1:
		h.paused = w.r.IntN(3) == 0
		return
	}
	for _, uid := range w.uids() {
		k := w.works[uid]
		switch {
		case k.obj.Namespace != hostile || a == nil:
		case which == 2: // its works name AppProjects that do not admit the tenant
			for _, name := range projects {
				if !w.projects[name].admits[k.claims().Namespace] {
					k.changeSpec(func(o *workv1.ManifestWork) { nameProject(o, name) })
				}
			}
		case which == 3:
			k.change(func(o *workv1.ManifestWork) {
				o.Annotations[contract.HubNamespaceAnnotation], o.Annotations[contract.HubNameAnnotation] = a.key.Namespace, a.key.Name
			})
		case which == 4 && w.spokes[hostile].uids[a.uid]:
			k.change(func(o *workv1.ManifestWork) { o.Annotations[contract.HubUIDAnnotation] = string(a.uid) })
		default:
			w.forge(k)
		}
	}
}

// nameProject replaces the AppProject of the Application in a work.
func nameProject(o *workv1.ManifestWork, name string) {
	for i := range o.Spec.Workload.Manifests {
		m := &o.Spec.Workload.Manifests[i]
		for _, other := range projects {
			if other != name && strings.Contains(string(m.Raw), `"kind":"Application"`) {
				m.Raw = []byte(strings.ReplaceAll(string(m.Raw), `"project":"`+other+`"`, `"project":"`+name+`"`))
			}
		}
	}
}

func upToDate(k *work, project *argocd.AppProject) bool {
	return !payload.Outdated(k.cached, project, "")
}

// propagation performs one step of propagation: a cache update, an evaluation, a reconcile or a kill.
func (w *world) propagation() {
	p := w.p
	if p.dead {
		if w.r.IntN(10) == 0 { // the hub is restored with other UIDs and without the stored state
			w.stored, w.counts = budget.Stored{}, map[string][]int{}
			for _, a := range w.apps {
				if !a.deleting {
					a.uid = w.id("u")
				}
			}
		}
		w.restart()
		return
	}
	switch w.r.IntN(30) {
	case 0:
		w.restart()
	case 1:
		p.dies = 1 + w.r.IntN(4)
	case 2, 3, 4, 5, 6:
		w.step()
	case 7, 8, 9, 10, 11, 12, 13:
		p.cache = w.clone()
	default:
		if keys := p.keys(); len(keys) > 0 {
			p.reconcile(keys[w.r.IntN(len(keys))])
		}
	}
}

// step runs the budget once.
func (w *world) step() {
	p := w.p
	for k, s := range p.cache.sets {
		annotations := map[string]string{contract.DeletionBudgetAnnotation: s.wordValue(w.now), contract.DeletionPolicyAnnotation: s.policy}
		p.b.Observe(decide.Group{Namespace: k.Namespace, Set: k.Name}, annotations, at(w.now))
	}
	onCluster := func(name string) (n int) {
		for _, k := range p.cache.works {
			if k.obj.Namespace == name {
				n++
			}
		}
		return n
	}
	p.b.Judge(p.cache.spaces[hubSpace].approves(w.now), onCluster, at(w.now), w.save)
}

// restart starts propagation without its memory. Stored allowed deletions stay allowed.
func (w *world) restart() {
	before := w.stored
	w.p = newProcess(w)
	for _, uid := range before.Works() {
		note := before.Note(uid)
		lane, due := w.p.b.End(uid)
		if note.Allowed && due && lane == note.Lane && !w.p.b.Note(uid).Allowed && !w.kept(uid) {
			w.fail("RESTART: %s was allowed, and is not any more", uid)
		}
	}
}

// kept reports whether the deletion of a work is delayed, or no longer planned.
func (w *world) kept(uid types.UID) bool {
	k := w.works[uid]
	if k == nil {
		return true
	}
	for _, t := range decide.Decide(w.p.gather(w.p.cache, k.claims())).Fates {
		if t.UID == uid {
			return t.Delayed.By != "" || t.Act != decide.End
		}
	}
	return true
}

func (w *world) walk(steps int) (done int) {
	for i := range steps {
		switch n := w.r.IntN(100); {
		case n < 9:
			w.user()
		case n < 14:
			w.admin()
		case n < 44:
			w.agents()
		default:
			w.propagation()
		}
		w.now += pick(w, 0, 0, 1, 2, 5, pick(w, 5, 30, 120))
		w.track()
		w.deliveries()
		if i%300 == 299 {
			w.settle()
		}
		if len(w.bad) > 0 {
			return i + 1
		}
	}
	return steps
}

// mutant breaks a rule on purpose.
type mutant struct {
	// facts changes the facts before a decision, and plan changes the plan after it.
	facts func(*decide.Facts)
	plan  func(decide.Facts, *decide.Plan)
	// forgets drops the allowed deletions from the stored state.
	forgets bool
}

func (m mutant) decide(f decide.Facts) decide.Plan {
	if m.facts != nil {
		f.Works = slices.Clone(f.Works)
		m.facts(&f)
	}
	p := decide.Decide(f)
	if m.plan != nil {
		m.plan(f, &p)
	}
	return p
}
