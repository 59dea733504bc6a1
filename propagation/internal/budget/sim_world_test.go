// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// The simulated hub has Applications and ManifestWorks as the API server stores them, and agents that apply
// them. One agent is hostile and writes everything that it may on objects of its cluster.

type key = types.NamespacedName

const (
	hostile  = "hostile"
	admins   = "argocd" // the hub's Argo CD namespace
	hubSpace = "hub"    // the namespace of propagation
)

var (
	clusters   = []string{"c1", "c2", "c3", hostile}
	tenants    = []string{"t1", "t2", admins}
	projects   = []string{"wide", "narrow"}
	namespaces = []string{"", "", "shared", "n3", "n4", "other"}
	settings   = decide.Settings{BindingGrace: 300 * time.Second, RecreateGrace: 5 * time.Second, SizeLimit: 500 << 10, ArgoCDNamespace: admins, DeliverProject: true}
	limits     = budget.Settings{Group: limit.Limit{Percent: 25, Least: 2}, Hub: limit.Limit{Percent: 20, Least: 4}, Window: 600 * time.Second}
	epoch      = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
)

// hub is the state of the API server. A cache is a copy of it.
type hub struct {
	apps     map[key]*app
	sets     map[key]*words
	spaces   map[string]*words
	bound    map[string]map[string]bool
	projects map[string]*project
	allowed  map[string]map[string]bool
	clusters map[string]*cluster
	works    map[types.UID]*work
}

// words are the annotations of an object.
type words struct {
	pause string // delivery or sync
	until int    // end of the pause, 0 for none
	word  decide.Effect
	ends  int // end of the override
	// policy is the deletion policy of an Application or ApplicationSet.
	policy string
}

func (w *words) pauseValue(now int) string {
	switch {
	case w.pause == "":
		return ""
	case w.until != 0 && w.until <= now:
		return ""
	case w.until != 0:
		return w.pause + " until " + stamp(w.until)
	}
	return w.pause
}

func (w *words) wordValue(now int) string {
	if w.word == decide.None || w.ends <= now {
		return ""
	}
	return string(w.word) + " until " + stamp(w.ends)
}

func (w *words) paused(now int) bool { return w.pauseValue(now) != "" }

func (w *words) keeps(now int) bool { return w.word.Keeps() && w.ends > now }

func (w *words) approves(now int) bool { return w.word == decide.Approve && w.ends > now }

func at(now int) time.Time { return epoch.Add(time.Duration(now) * time.Second) }

func stamp(now int) string { return at(now).Format(time.RFC3339) }

// app is an Application.
type app struct {
	words
	uid                       types.UID
	key                       key
	label                     string
	cluster, ns, project, set string
	abandon, observe          bool
	malformed, large          bool
	finalizer, deleting       bool
	spec, created             int
}

func (a *app) identity() key {
	if a.ns == "" {
		return a.key
	}
	return key{Namespace: a.ns, Name: a.key.Name}
}

// object returns the Application as the API server returns it.
func (a *app) object(now int) *argocd.Application {
	o := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.key.Namespace, Name: a.key.Name, UID: a.uid, CreationTimestamp: metav1.NewTime(at(a.created)),
		Labels:      map[string]string{contract.PullLabel: a.label},
		Annotations: map[string]string{contract.ClusterAnnotation: a.cluster, argocd.SkipReconcileAnnotation: "true"},
	}}
	set := func(name, value string) {
		if value != "" {
			o.Annotations[name] = value
		}
	}
	set(contract.AppNamespaceAnnotation, a.ns)
	set(contract.PausedAnnotation, a.pauseValue(now))
	policy := a.policy
	if a.abandon {
		policy = strings.TrimPrefix(policy+",abandon", ",")
	}
	set(contract.DeletionPolicyAnnotation, policy)
	if a.observe {
		set(contract.ManagementPolicyAnnotation, payload.ManagementObserve)
	}
	if a.malformed {
		set(contract.ManagementPolicyAnnotation, "nonsense")
	}
	if a.finalizer {
		o.Finalizers = []string{argocd.ResourcesFinalizer}
	}
	if a.deleting {
		o.DeletionTimestamp = &metav1.Time{Time: at(now)}
	}
	if a.set != "" {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: a.set}}
	}
	size := ""
	if a.large {
		size = fmt.Sprintf(`"multicluster-integrations/bytes":%d,`, 1<<20)
	}
	o.Spec = json.RawMessage(fmt.Sprintf(`{%s"destination":{"namespace":"x"},"project":%q,"source":{"targetRevision":"%d"},"syncPolicy":{"automated":{}}}`, size, a.project, a.spec))
	return o
}

type project struct {
	admits  map[string]bool
	version int
}

func (p *project) object(name string) *argocd.AppProject {
	spec, _ := json.Marshal(map[string]any{"sourceNamespaces": sortedKeys(p.admits), "description": strconv.Itoa(p.version)})
	return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: admins, Name: name}, Spec: spec}
}

func sortedKeys(m map[string]bool) (list []string) {
	for name, yes := range m {
		if yes {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

type cluster struct{ local, leaving, paused bool }

// work is a ManifestWork. Its object and the values read from it are replaced, never changed in place.
type work struct {
	obj    *workv1.ManifestWork
	cached *manifestcache.Work
	content
	// truth is the Application for which the work was created, and trueSet its last ApplicationSet.
	// Propagation cannot read either. made is the UID of that Application.
	truth   key
	trueSet string
	made    types.UID
}

// content is the part of a work's delivery that the simulation checks.
type content struct {
	cascade, automated bool
	revision, project  string
}

func (k *work) uid() types.UID { return k.obj.UID }

func (k *work) claims() key {
	return key{Namespace: k.obj.Annotations[contract.HubNamespaceAnnotation], Name: k.obj.Annotations[contract.HubNameAnnotation]}
}

func (k *work) identity() key { return payload.DeliveredBy(&k.obj.Spec) }

func (k *work) observes() bool { return k.obj.Annotations[contract.ObservedAnnotation] != "" }

func (k *work) orphans() bool { return k.obj.Annotations[contract.OnWithdrawAnnotation] != "" }

func (k *work) going() bool { return k.obj.DeletionTimestamp != nil }

func (k *work) finalized() bool { return len(k.obj.Finalizers) > 0 }

func (k *work) applied() metav1.ConditionStatus { return k.cached.Applied() }

// change replaces the object by a changed copy.
func (k *work) change(change func(*workv1.ManifestWork)) {
	o := k.obj.DeepCopy()
	change(o)
	version, _ := strconv.Atoi(o.ResourceVersion)
	o.ResourceVersion = strconv.Itoa(version + 1)
	k.obj = o
	k.read()
}

// changeSpec is change with a new generation.
func (k *work) changeSpec(change func(*workv1.ManifestWork)) {
	k.change(func(o *workv1.ManifestWork) {
		change(o)
		o.Generation++
	})
}

func (k *work) read() {
	stored := payload.StoredOf(k.obj)
	k.cached, _ = manifestcache.Compact(k.obj.DeepCopy(), &stored)
	var delivered struct {
		Metadata struct {
			Finalizers []string `json:"finalizers"`
		} `json:"metadata"`
		Spec struct {
			Project string `json:"project"`
			Source  struct {
				TargetRevision string `json:"targetRevision"`
			} `json:"source"`
			SyncPolicy struct {
				Automated json.RawMessage `json:"automated"`
			} `json:"syncPolicy"`
		} `json:"spec"`
	}
	manifests := k.obj.Spec.Workload.Manifests
	if len(manifests) > 0 {
		_ = json.Unmarshal(manifests[len(manifests)-1].Raw, &delivered)
	}
	k.content = content{
		cascade: len(delivered.Metadata.Finalizers) > 0, automated: len(delivered.Spec.SyncPolicy.Automated) > 0,
		revision: delivered.Spec.Source.TargetRevision, project: delivered.Spec.Project,
	}
}

// cloned copies a map and its values, which may be changed in place.
func cloned[K comparable, T any](m map[K]*T) map[K]*T {
	c := make(map[K]*T, len(m))
	for k, v := range m {
		t := *v
		c[k] = &t
	}
	return c
}

func (h *hub) clone() *hub {
	c := &hub{cloned(h.apps), cloned(h.sets), cloned(h.spaces), map[string]map[string]bool{}, cloned(h.projects), map[string]map[string]bool{}, cloned(h.clusters), cloned(h.works)}
	for k, m := range h.bound {
		c.bound[k] = maps.Clone(m)
	}
	for k, m := range h.allowed {
		c.allowed[k] = maps.Clone(m)
	}
	for _, p := range c.projects {
		p.admits = maps.Clone(p.admits)
	}
	return c
}

// permitted reports whether the hub permits a delivery, from the state of the hub alone.
func (h *hub) permitted(ns, cluster, project string, identity key) bool {
	admitted := ns == admins || project == "" || h.projects[project] == nil && identity.Namespace == ns || h.projects[project] != nil && h.projects[project].admits[ns]
	return h.bound[ns][cluster] && admitted && (ns == admins || identity.Namespace == ns || h.allowed[ns][identity.Namespace])
}

// spoke is a managed cluster.
type spoke struct {
	away, refuses, hostile bool
	copies                 map[key]*delivery
	loads                  map[key]bool
	seen                   map[types.UID]*work // works as applied last
	uids                   map[types.UID]bool  // of Applications that it has applied
}

// delivery is an Application on a managed cluster.
type delivery struct {
	content
	truth  key
	owners map[types.UID]bool
}

// world is the hub, the managed clusters, propagation, and the true state of all of them.
type world struct {
	*hub
	r       *rand.Rand
	now, n  int
	spokes  map[string]*spoke
	stored  budget.Stored
	noStore bool
	p       *process
	mutant  mutant

	unpermitted map[types.UID]int // start of the lost permission
	gone        map[key]int
	permittedIn map[types.UID]bool // in the API server, since unpermitted
	seenIn      map[types.UID]bool // observed by propagation
	promised    map[types.UID]bool // to stay, by a set that was deleted with --cascade=orphan
	peak        map[decide.Group]int
	how         map[types.UID]string // of deleted works: prune or keep
	counts      map[string][]int
	most        map[string]int
	bad         []string
	trace       []string
}

func newWorld(seed uint64, m mutant) *world {
	w := &world{
		r: rand.New(rand.NewPCG(seed, 7)), now: 1000, spokes: map[string]*spoke{}, mutant: m,
		unpermitted: map[types.UID]int{}, gone: map[key]int{}, permittedIn: map[types.UID]bool{}, seenIn: map[types.UID]bool{}, promised: map[types.UID]bool{},
		peak: map[decide.Group]int{}, how: map[types.UID]string{}, counts: map[string][]int{}, most: map[string]int{},
	}
	w.hub = &hub{map[key]*app{}, map[key]*words{}, map[string]*words{}, map[string]map[string]bool{}, map[string]*project{}, map[string]map[string]bool{}, map[string]*cluster{}, map[types.UID]*work{}}
	for _, c := range clusters {
		w.clusters[c] = &cluster{}
		w.spokes[c] = &spoke{hostile: c == hostile, copies: map[key]*delivery{}, loads: map[key]bool{}, seen: map[types.UID]*work{}, uids: map[types.UID]bool{}}
	}
	for _, t := range append(slices.Clone(tenants), hubSpace) {
		w.spaces[t], w.bound[t] = &words{}, map[string]bool{}
		w.allowed[t] = map[string]bool{"shared": true, "n3": true, "n4": true}
		for _, c := range clusters {
			w.bound[t][c] = true
		}
	}
	for _, p := range projects {
		w.projects[p] = &project{admits: map[string]bool{"t1": true, "t2": true}}
	}
	w.p = newProcess(w)
	return w
}

func (w *world) id(prefix string) types.UID {
	w.n++
	return types.UID(fmt.Sprintf("%05d-%s", w.n, prefix)) // the name of a work contains the first five characters
}

func (w *world) fail(format string, args ...any) { w.bad = append(w.bad, fmt.Sprintf(format, args...)) }

func (w *world) logf(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%d: ", w.now)+fmt.Sprintf(format, args...))
	if len(w.trace) > 400 {
		w.trace = slices.Clone(w.trace[200:])
	}
}

func (h *hub) uids() []types.UID { return slices.Sorted(maps.Keys(h.works)) }

// track updates the true state after each step.
func (w *world) track() {
	groups := map[decide.Group]int{}
	for uid, k := range w.works {
		ok := w.permitted(k.truth.Namespace, k.obj.Namespace, k.project, k.identity()) && !w.clusters[k.obj.Namespace].local
		_, known := w.unpermitted[uid]
		switch {
		case k.going():
			delete(w.unpermitted, uid)
		case ok: // a permission that no cache has observed ends no grace period
			w.permittedIn[uid] = true
		case !known || w.seenIn[uid]:
			w.unpermitted[uid], w.permittedIn[uid], w.seenIn[uid] = w.now, false, false
		default:
			w.permittedIn[uid] = false
		}
		a := w.apps[k.truth]
		if a != nil {
			k.trueSet = a.set
		}
		if k.obj.Namespace == hostile && !ok { // forgeries of the hostile agent do not count
			ok = a == nil || w.permitted(k.truth.Namespace, hostile, a.project, a.identity())
		}
		if !ok && !k.going() && !w.clusters[k.obj.Namespace].local {
			groups[decide.Group{Namespace: k.truth.Namespace, Set: k.trueSet}]++
		}
		if w.apps[k.truth] != nil {
			delete(w.gone, k.truth)
		} else if _, known := w.gone[k.truth]; !known {
			w.gone[k.truth] = w.now
		}
	}
	for uid := range w.unpermitted {
		if w.works[uid] == nil {
			delete(w.unpermitted, uid)
		}
	}
	for g := range w.peak {
		if held, _ := w.p.b.Held(decide.Lane{Kind: decide.Admin, Group: g}); groups[g] == 0 && !held { // a partial recovery ends no hold
			delete(w.peak, g)
		}
	}
	for g, n := range groups {
		for _, t := range w.counts[fmt.Sprint(decide.Admin, g)] {
			if w.now-t < 630 {
				n++
			}
		}
		w.peak[g] = max(w.peak[g], n)
	}
}
