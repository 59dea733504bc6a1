// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// sameFacts waits until the cache and the API server return the same facts about an Application. For a
// deletion, propagation reads the facts from both, and each reader has to read all of them.
func sameFacts(t *testing.T, p *propagation, key types.NamespacedName) {
	t.Helper()
	testkit.Eventually(t, "facts of the cache and of the API server to be the same", func() error {
		s := p.sources()
		fromCache, err := gather(context.Background(), s, p.cached, key)
		if err != nil {
			return err
		}
		live, err := gather(context.Background(), s, p.live, key)
		if err != nil {
			return err
		}
		for i := range live.Works {
			if w := &live.Works[i]; w.Live == nil || w.Live.UID != w.UID || w.Live.ResourceVersion != w.ResourceVersion {
				return fmt.Errorf("%s: work %s has no spec of its version", key, w.Name)
			}
		}
		if diff := diffFacts(fromCache, live); diff != "" {
			return fmt.Errorf("%s (-cache +API server)\n%s", key, diff)
		}
		return nil
	})
}

func diffFacts(fromCache, live decide.Facts) string {
	return cmp.Diff(fromCache, live, cmpopts.IgnoreTypes(metav1.TypeMeta{}), cmpopts.IgnoreFields(decide.Work{}, "Live"), cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b status.WorkStatus) bool { return a == b }))
}

// answers is a reader that returns err for each read, or an empty object or list if err is nil.
type answers struct{ err error }

func (a answers) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return a.err
}

func (a answers) List(context.Context, client.ObjectList, ...client.ListOption) error { return a.err }

// store has one work, and returns err.
type store struct {
	work *manifestcache.Work
	err  error
}

func (s store) List() []any { return []any{s.work} }

func (s store) ByIndex(string, string) ([]any, error) { return []any{s.work}, s.err }

func (s store) GetByKey(string) (any, bool, error) { return nil, false, s.err }

// calls returns the reads of a [reader] about an Application and its work.
func calls(app *argocd.Application) map[string]func(reader) (found bool, err error) {
	ctx, key := context.Background(), client.ObjectKeyFromObject(app)
	return map[string]func(reader) (bool, error){
		"Application": func(r reader) (bool, error) {
			o, err := readObject(ctx, r, key, &argocd.Application{})
			return o != nil, err
		},
		"Set": func(r reader) (bool, error) {
			o, err := readObject(ctx, r, key, argocd.ApplicationSetMetadata())
			return o != nil, err
		},
		"Namespace": func(r reader) (bool, error) {
			o, err := readObject(ctx, r, types.NamespacedName{Name: "team"}, appcache.NamespaceMetadata())
			return o != nil, err
		},
		"Cluster": func(r reader) (bool, error) {
			o, err := readObject(ctx, r, types.NamespacedName{Name: "cluster1"}, &clusterv1.ManagedCluster{})
			return o != nil, err
		},
		"Project": func(r reader) (bool, error) { o, err := readProject(ctx, r, "argocd", "wide"); return o != nil, err },
		"Bound":   func(r reader) (bool, error) { return r.Bound(ctx, "team", "cluster1") },
		"Works":   func(r reader) (bool, error) { w, err := r.Works(ctx, key, nil); return len(w) > 0, err },
		"Rivals":  func(r reader) (bool, error) { f, err := r.Rivals(ctx, app); return len(f.Applications) > 0, err },
		"Agent":   func(r reader) (bool, error) { return r.Agent(ctx, "agent1") },
	}
}

// If the cache or the API server returns an error, no reader reports a missing object.
func TestReaders_reportNoMissingObjectOnErrors(t *testing.T) {
	app := settled(t).app
	work := appcache.Compact(workOn(t, app, "cluster1", nil))
	other := app.DeepCopy()
	other.Name = "other"
	foreign := appcache.Compact(workOn(t, other, "cluster1", nil))
	options := Options{ArgoCDNamespace: "argocd", AgentNamespaces: []string{"argocd"}}
	resource := schema.GroupResource{Resource: "things"}
	for reason, failure := range map[string]error{
		"no right to read":        apierrors.NewForbidden(resource, "x", nil),
		"the API server is slow":  apierrors.NewTimeoutError("too slow", 1),
		"it has no such kind":     &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Thing"}},
		"the cache is not synced": &cache.ErrCacheNotStarted{},
	} {
		for kind, r := range map[string]reader{
			"cache":      &cacheReader{cache: answers{failure}, direct: answers{failure}, index: manifestcache.NewIndex(store{work, failure}), options: options},
			"API server": &liveReader{api: answers{failure}, cache: &cacheReader{cache: answers{}, direct: answers{}, index: manifestcache.NewIndex(store{work, nil}), options: options}},
		} {
			for name, call := range calls(app) {
				if _, err := call(r); kind == "API server" && name == "Rivals" {
					continue // tested below, because this cache has no rival
				} else if !errors.Is(err, failure) {
					t.Errorf("%s: %s of the %s: the error is %v", reason, name, kind, err)
				}
			}
		}
		lost := &liveReader{api: answers{failure}, cache: &cacheReader{cache: answers{}, direct: answers{}, index: manifestcache.NewIndex(store{foreign, nil}), options: options}}
		if _, err := lost.Works(t.Context(), client.ObjectKeyFromObject(app), app); !errors.Is(err, failure) {
			t.Errorf("%s: works that the cache does not have: the error is %v", reason, err)
		}
		rival := app.DeepCopy()
		rival.Namespace = "other"
		rival.Annotations[contract.AppNamespaceAnnotation] = "team"
		r := &liveReader{api: answers{failure}, cache: &cacheReader{cache: answers{}, direct: answers{}, index: manifestcache.NewIndex(store{work, nil}), options: options}}
		if _, err := r.Rivals(t.Context(), rival); !errors.Is(err, failure) {
			t.Errorf("%s: the copy of a rival: the error is %v", reason, err)
		}
	}
}

// A missing object is no error.
func TestReaders_returnNoErrorForMissingObjects(t *testing.T) {
	app := settled(t).app
	gone := answers{apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "x")}
	fromCache := &cacheReader{cache: gone, direct: gone, index: manifestcache.NewIndex(store{}), options: Options{}}
	for kind, r := range map[string]reader{"cache": fromCache, "API server": &liveReader{api: gone, cache: fromCache}} {
		for name, call := range calls(app) {
			switch name {
			case "Bound", "Works", "Rivals", "Agent": // these read lists
				continue
			}
			if found, err := call(r); found || err != nil {
				t.Errorf("%s of the %s: found is %t, %v", name, kind, found, err)
			}
		}
	}
}

// After each change, both readers return the same facts.
func TestReaders_returnTheSameFacts(t *testing.T) {
	g := newSet(t)
	argo := anywhere(t, g.namespace)
	hubNamespace := newHubNamespace(t)
	narrow, later := newCluster(t), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	g.bind(g.cluster, narrow)
	options := Options{}
	argo(&options)
	team := project("team", "*", "*")
	team.Namespace = options.ArgoCDNamespace
	g.create(team)
	running := start(t, argo, withBudget(hubNamespace))
	app := g.deploy("guestbook", g.owned, func(a *argocd.Application) {
		a.Spec = json.RawMessage(`{"project":"team","source":{"repoURL":"https://git.example.com/apps.git","path":"guestbook"},"destination":{"namespace":"guestbook"}}`)
	})
	key := client.ObjectKeyFromObject(app)
	work := delivered(t, app, g.cluster)
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: g.cluster}}
	for _, step := range []struct {
		what   string
		change func()
		found  func(decide.Facts) bool
	}{
		{"delivered", func() {}, func(f decide.Facts) bool {
			return f.May == everything && f.Works[0].May == everything && f.Works[0].Relation == decide.Own && f.Project != nil && f.Works[0].Project == "team" && f.Owner != nil
		}},
		{"applied", func() {
			finalized(t, work)
			answer(t, client.ObjectKeyFromObject(work), metav1.ConditionTrue, metav1.ConditionTrue, "", nil)
		}, func(f decide.Facts) bool { return f.Works[0].Finalized && f.Works[0].Applied == metav1.ConditionTrue }},
		{"the ManagedCluster is paused", func() {
			setAnnotation(t, cluster, contract.PausedAnnotation, "sync until "+later)
		}, func(f decide.Facts) bool { return f.Target.Pause.Mode != "" && f.Works[0].Cluster.Pause.Mode != "" }},
		{"a long invalid value", func() {
			setAnnotation(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.namespace}}, contract.PausedAnnotation, strings.Repeat("no ", 100))
		}, func(f decide.Facts) bool { return f.Namespace.Pause.Problem != "" }},
		{"the hub holds", func() {
			setAnnotation(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hubNamespace}}, contract.DeletionBudgetAnnotation, "hold until "+later)
		}, func(f decide.Facts) bool { return f.Hub.Override.Effect == decide.Hold }},
		{"the ApplicationSet orphans", func() {
			setAnnotation(t, g.set, contract.DeletionPolicyAnnotation, payload.DeletionOrphan)
		}, func(f decide.Facts) bool { return f.Owner.Policy.Value == payload.DeletionOrphan }},
		{"the AppProject is narrowed", func() {
			edit(t, team, func(p *argocd.AppProject) { p.Spec = project("team", "other", "narrow").Spec })
		}, func(f decide.Facts) bool { return !f.May.Project && !f.Works[0].May.Project }},
		{"the binding is lost", func() { g.bind(narrow) }, func(f decide.Facts) bool { return !f.May.Bound && !f.Works[0].May.Bound }},
		{"it moves", func() {
			edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = narrow })
		}, func(f decide.Facts) bool { return f.May.Bound && !f.Works[0].May.Bound }},
		{"another wants what it is", func() {
			other := newPlace(t)
			other.bind(narrow)
			other.deploy(app.Name, func(a *argocd.Application) {
				a.Annotations[contract.ClusterAnnotation], a.Annotations[contract.AppNamespaceAnnotation] = narrow, g.namespace
			})
		}, func(f decide.Facts) bool { return len(f.Rivals) == 1 && f.Rivals[0].Wants && f.Rivals[0].Copy != "" }},
		{"it is gone", func() { remove(t, app) }, func(f decide.Facts) bool {
			return f.Application == nil && len(f.Works) == 1 && f.Works[0].Set != nil && f.Works[0].Relation == decide.Leftover
		}},
		{"and so is its ApplicationSet", func() { remove(t, g.set) }, func(f decide.Facts) bool { return f.Works[0].Set == nil }},
	} {
		step.change()
		sameFacts(t, running, key)
		testkit.Eventually(t, step.what+" to be found", func() error {
			f, err := gather(t.Context(), running.sources(), running.cached, key)
			if err == nil && !step.found(f) {
				err = fmt.Errorf("the facts are %+v", f)
			}
			return err
		})
		sameFacts(t, running, key)
	}
}

// smallHub is a hub with some Applications and one ManifestWork.
type smallHub struct {
	apps []*argocd.Application
	work *workv1.ManifestWork
}

func (h smallHub) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *argocd.Application:
		for _, app := range h.apps {
			if client.ObjectKeyFromObject(app) == key {
				return get(o, app, nil)
			}
		}
	case *workv1.ManifestWork:
		if client.ObjectKeyFromObject(h.work) == key {
			return get(o, h.work.DeepCopy(), nil)
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (h smallHub) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if apps, ok := list.(*argocd.ApplicationList); ok {
		for _, app := range h.apps {
			apps.Items = append(apps.Items, *app)
		}
	}
	return nil
}

// indexOf returns the index of a cache with one work.
func indexOf(t *testing.T, work *workv1.ManifestWork) *manifestcache.Index {
	t.Helper()
	indexers := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	for name, keys := range manifestcache.IndexFuncs() {
		indexers[name] = keys
	}
	works := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
	if err := works.Add(appcache.Compact(work.DeepCopy())); err != nil {
		t.Fatal(err)
	}
	return manifestcache.NewIndex(works)
}

// Two Applications of one name have UIDs that begin with the same digits. So the name of a work proves that it
// belongs to both. Then the Application that the work names has it, and the other one must not remove it. The
// agent of the cluster can only choose between Applications with a proof.
func TestReaders_giveAWorkToOneApplication(t *testing.T) {
	one := settled(t).app
	one.UID = "0123456789ab-one"
	two := one.DeepCopy()
	two.Namespace, two.UID = "other", "0123456789ab-two"
	restored := one.DeepCopy()
	restored.UID = "fffffffffff-one"
	naming := func(namespace string) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) { w.Annotations[contract.HubNamespaceAnnotation] = namespace }
	}
	elsewhere := func(a *argocd.Application) *argocd.Application {
		a = a.DeepCopy()
		a.Annotations[contract.ClusterAnnotation] = "cluster2"
		return a
	}
	none, own, adoptable := decide.Relation(-1), decide.Own, decide.Adoptable
	for name, c := range map[string]struct {
		reason   string
		one, two *argocd.Application
		of       *argocd.Application // whose delivery the work is
		edit     func(*workv1.ManifestWork)
		want     [2]decide.Relation
	}{
		"delivered": {reason: "it names the first", one: one, two: two, of: one, want: [2]decide.Relation{own, none}},
		"the other": {reason: "it names the second", one: one, two: two, of: two, want: [2]decide.Relation{none, own}},
		"renamed":   {reason: "an agent decides between two proofs, on its own cluster", one: one, two: two, of: one, edit: naming("other"), want: [2]decide.Relation{none, own}},
		"moved":     {reason: "the first keeps its former work until the move is done", one: elsewhere(one), two: two, of: one, want: [2]decide.Relation{own, none}},
		"turned off": {
			reason: "and until it is removed, which a pause may delay", two: two, of: one, want: [2]decide.Relation{own, none},
			one: func() *argocd.Application { a := one.DeepCopy(); a.Labels = nil; return a }(),
		},
		"restored": {reason: "the first has another UID now, and the work delivers it", one: restored, two: two, of: one, want: [2]decide.Relation{adoptable, none}},
		"adopted and moved": {
			reason: "it carries the whole UID", one: elsewhere(restored), two: two, of: one, want: [2]decide.Relation{own, none},
			edit: func(w *workv1.ManifestWork) { w.Annotations[contract.HubUIDAnnotation] = string(restored.UID) },
		},
		"nobody's": {reason: "an agent cannot make it disown its Application", one: one, of: one, edit: naming("nobody"), want: [2]decide.Relation{own, none}},
		"a victim": {
			reason: "nor by the name of one that has no proof", one: one, of: one, edit: naming("other"), want: [2]decide.Relation{own, none},
			two: func() *argocd.Application { a := elsewhere(two); a.UID = "eeeeeeeeee"; return a }(),
		},
	} {
		work := workOn(t, c.of, "cluster1", nil)
		work.Name = payload.WorkNames(two)[0]
		if c.edit != nil {
			c.edit(work)
		}
		hub := smallHub{work: work}
		for _, app := range []*argocd.Application{c.one, c.two} {
			if app != nil {
				hub.apps = append(hub.apps, app)
			}
		}
		fromCache := &cacheReader{cache: hub, direct: hub, index: indexOf(t, work)}
		for kind, r := range map[string]reader{"cache": fromCache, "API server": &liveReader{api: hub, cache: fromCache}} {
			for i, app := range []*argocd.Application{c.one, c.two} {
				if app == nil {
					continue
				}
				got := none
				found, err := r.Works(t.Context(), client.ObjectKeyFromObject(app), app)
				if len(found) > 0 {
					got = found[0].Relation
				}
				if err != nil || len(found) > 1 || got != c.want[i] {
					t.Errorf("%s of the %s: %s: the relation to Application %d is %d, want %d, %v", name, kind, c.reason, i+1, got, c.want[i], err)
				}
			}
		}
	}
}

// changedRival is an API server that has another version of an Application than the cache.
type changedRival struct {
	client.Reader
	key    client.ObjectKey
	change func(*argocd.Application) error
}

func (c changedRival) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := c.Reader.Get(ctx, key, o, options...)
	if app, ok := o.(*argocd.Application); ok && err == nil && key == c.key {
		return c.change(app)
	}
	return err
}

// Before propagation deletes a ManifestWork because another Application has its identity, it reads that
// Application from the API server.
func TestLiveReader_readsRivals(t *testing.T) {
	p, other := newPlace(t), newPlace(t)
	other.bind(p.cluster)
	running := start(t, anywhere(t, p.namespace))
	app := p.deploy("guestbook")
	delivered(t, app, p.cluster)
	rival := other.deploy("guestbook", func(a *argocd.Application) {
		a.Annotations[contract.ClusterAnnotation], a.Annotations[contract.AppNamespaceAnnotation] = p.cluster, p.namespace
	})
	key := client.ObjectKeyFromObject(rival)
	for name, c := range map[string]struct {
		change func(*argocd.Application) error
		wants  bool
	}{
		"as cached":  {func(*argocd.Application) error { return nil }, true},
		"gone":       {func(*argocd.Application) error { return apierrors.NewNotFound(schema.GroupResource{}, key.Name) }, false},
		"deleted":    {func(a *argocd.Application) error { now := metav1.Now(); a.DeletionTimestamp = &now; return nil }, false},
		"moved":      {func(a *argocd.Application) error { a.Annotations[contract.ClusterAnnotation] = "c2"; return nil }, false},
		"renamed":    {func(a *argocd.Application) error { delete(a.Annotations, contract.AppNamespaceAnnotation); return nil }, false},
		"not pulled": {func(a *argocd.Application) error { a.Labels = nil; return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			live := &liveReader{api: changedRival{running.live.api, key, c.change}, cache: running.live.cache}
			testkit.Eventually(t, "the rival in the cache", func() error {
				f, err := gather(t.Context(), running.sources(), running.cached, client.ObjectKeyFromObject(app))
				if err == nil && len(f.Rivals) != 1 {
					err = fmt.Errorf("rivals %+v", f.Rivals)
				}
				return err
			})
			f, err := gather(t.Context(), running.sources(), live, client.ObjectKeyFromObject(app))
			if err != nil || (len(f.Rivals) == 1 && f.Rivals[0].Wants) != c.wants {
				t.Errorf("rivals %+v, %v", f.Rivals, err)
			}
		})
	}
}

// setAnnotation sets an annotation of an object.
func setAnnotation(t *testing.T, o client.Object, key, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if err := hub.client.Patch(context.Background(), o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// sources returns the sources of a propagation with an empty ledger.
func (p *propagation) sources() *sources {
	now := time.Now()
	return &sources{options: p.cached.options, now: func() time.Time { return now }, ledger: &hubObjects{}, refreshes: &refreshes{}, naming: namespacesNaming(p.cached.cache)}
}

// decisionsOf is an API server with a PlacementDecision that selects a cluster from the second list on. It
// answers no list before proceed is closed.
type decisionsOf struct {
	client.Reader
	cluster string
	begun   chan int
	proceed chan struct{}

	mu    sync.Mutex
	lists int
	fails int // the number of a list that fails
}

func (d *decisionsOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	d.mu.Lock()
	d.lists++
	number := d.lists
	d.mu.Unlock()
	d.begun <- number
	<-d.proceed
	if number == d.fails {
		return errUnreadable
	}
	if decisions, ok := list.(*clusterv1beta1.PlacementDecisionList); ok && number > 1 {
		decisions.Items = []clusterv1beta1.PlacementDecision{{Status: clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{{ClusterName: d.cluster}}}}}
	}
	return nil
}

// Callers that arrive during a list wait for the next list and share it. They use data that was read after
// their call.
func TestLiveReader_sharesListsOfDecisions(t *testing.T) {
	for name, fails := range map[string]int{"well": 0, "the first fails": 1, "the second fails": 2} {
		t.Run(name, func(t *testing.T) {
			const others = 20
			api := &decisionsOf{cluster: "cluster1", begun: make(chan int, others+1), proceed: make(chan struct{}), fails: fails}
			reader := &liveReader{api: api}
			var mu sync.Mutex
			bound, failed := 0, 0
			ask := func() {
				b, err := reader.Bound(t.Context(), "team", "cluster1")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil && !errors.Is(err, errUnreadable):
					t.Error(err)
				case err != nil:
					failed++
				case b:
					bound++
				}
			}
			var all sync.WaitGroup
			all.Go(ask)
			<-api.begun
			for range others {
				all.Go(ask)
			}
			testkit.Until(t, "all to ask", func() bool { return reader.decisions.callersOf("team") == others+1 })
			close(api.proceed)
			all.Wait()
			want := others
			if fails == 2 {
				want-- // the caller with the failed list. The others list again
			}
			if bound != want || failed != min(fails, 1) {
				t.Errorf("%d were told that the cluster is bound, %d that it cannot be read", bound, failed)
			}
			if most := 2 + max(0, fails-1); api.lists > most {
				t.Errorf("%d lists for %d callers, at most %d", api.lists, others+1, most)
			}
			if reader.decisions.callersOf("team") != 0 || len(reader.decisions.lists) != 0 {
				t.Error("a list is kept that nobody uses")
			}
		})
	}
}

func (s *sharedDecisions) callersOf(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists[namespace] == nil {
		return 0
	}
	return s.lists[namespace].callers
}

// oneApplication is a client with one Application.
type oneApplication struct {
	client.Client
	app *argocd.Application
}

func (o oneApplication) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if apps, ok := list.(*argocd.ApplicationList); ok {
		apps.Items = []argocd.Application{*o.app}
	}
	return nil
}

// meanwhile is a reader that calls happens while it reads ManifestWorks.
type meanwhile struct {
	*hubObjects
	happens func()
}

func (m *meanwhile) Works(ctx context.Context, key types.NamespacedName, app *argocd.Application) ([]foundWork, error) {
	found, err := m.hubObjects.Works(ctx, key, app)
	m.happens()
	return found, err
}

// A plan of the start does not replace a later plan of a reconcile.
func TestPrepare_leavesLaterPlans(t *testing.T) {
	h := settled(t)
	g := clients{client: oneApplication{app: h.app}, index: manifestcache.NewIndex(store{h.works[0].Work, nil})}
	b := budget.New(g.client, g.client, nil, budget.Options{})
	r := &Reconciler{facts: h.sources(), budget: b, sweeper: newSweeper(g)}
	r.cached = &meanwhile{hubObjects: h, happens: func() {
		b.Set(decide.Plan{Key: teamApp, Group: decide.Group{Namespace: "team"}, Deliveries: 1, Fates: []decide.Fate{{UID: h.works[1].UID, Own: true}}})
	}}
	if wait, err := r.prepare(t.Context(), gatherNow); err != nil || wait != 0 {
		t.Fatalf("wait %s, %v", wait, err)
	}
	if note := b.Note(h.works[1].UID); note.Group.Set != "" {
		t.Errorf("the plan of the reconcile is lost: %+v", note)
	}
	if note := b.Note(h.works[0].UID); note.Known {
		t.Errorf("a ManifestWork of an older plan came back: %+v", note)
	}
}

// A label was restored a moment ago, and the cache has the work. Removals do not wait for it after a start.
func TestPrepare_waitsOnlyForWorksThatTheCacheLacks(t *testing.T) {
	h := settled(t)
	for _, c := range []struct {
		name  string
		cache manifestcache.Store
		want  time.Duration
	}{
		{"the cache lacks it", store{h.works[0].Work, nil}, time.Second},
		{"the cache has it", withKeys{store{h.works[0].Work, nil}}, 0},
	} {
		g := clients{client: oneApplication{app: h.app}, index: manifestcache.NewIndex(c.cache)}
		r := &Reconciler{facts: h.sources(), cached: h, budget: budget.New(g.client, g.client, nil, budget.Options{}), sweeper: newSweeper(g)}
		r.sweeper.left(h.works[0].Work)
		if wait, err := r.prepare(t.Context(), gatherNow); err != nil || wait != c.want {
			t.Errorf("%s: wait %s, want %s, %v", c.name, wait, c.want, err)
		}
	}
}

// withKeys is a store that also finds its work by its key.
type withKeys struct{ store }

func (s withKeys) GetByKey(string) (any, bool, error) { return s.work, true, nil }

// oneWork is a client with one ManifestWork and its Application. It does not carry out writes.
type oneWork struct {
	client.Client
	app  *argocd.Application
	work *workv1.ManifestWork
}

func (o oneWork) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *argocd.Application:
		o.app.DeepCopyInto(into)
	case *workv1.ManifestWork:
		o.work.DeepCopyInto(into)
	}
	return nil
}

func (o oneWork) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

// A work on a former cluster without its label is missing until the cache has it, also once its Application no
// longer exists.
func TestRestore_returnsMissingWorks(t *testing.T) {
	h := settled(t)
	c := oneWork{work: workOn(t, h.app, "cluster2", nil)}
	c.work.Labels = nil
	s := newSweeper(clients{client: c, live: c, index: manifestcache.NewIndex(store{h.works[0].Work, nil})})
	s.left(c.work)
	for _, app := range []*argocd.Application{h.app, nil} { // the first patches the label
		got, err := s.restore(t.Context(), teamApp, app)
		want := missing{works: []types.UID{c.work.UID}, own: app != nil}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(missing{})); diff != "" || err != nil {
			t.Errorf("of an Application that exists, %t: %s, %v", app != nil, diff, err)
		}
	}
}

// A former cluster removes the label of its work. A reconcile of the Application keeps what the budget has of the
// work.
func TestReconcile_keepsMissingWorksInTheBudget(t *testing.T) {
	h := settled(t)
	c := oneWork{app: h.app, work: workOn(t, h.app, "cluster2", nil)}
	c.work.Labels = nil
	index := manifestcache.NewIndex(store{h.works[0].Work, nil})
	h.works, h.app.DeletionTimestamp, h.app.Finalizers = nil, &metav1.Time{Time: gatherNow}, []string{argocd.ResourcesFinalizer}
	b := budget.New(c, c, nil, budget.Options{})
	b.Set(decide.Plan{Key: teamApp, Group: decide.Group{Namespace: "team", Set: "set"}, Deliveries: 1, Fates: []decide.Fate{
		{UID: c.work.UID, Own: true, Clocks: map[decide.Why]time.Time{decide.NotBound: gatherNow}},
	}})
	unreadable := *h // the reconcile ends with the live reads, before it writes
	unreadable.fail = "Application"
	r := &Reconciler{facts: h.sources(), cached: h, live: &unreadable, budget: b, sweeper: newSweeper(clients{client: c, live: c, index: index})}
	r.sweeper.left(c.work)
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: teamApp}); !errors.Is(err, errUnreadable) {
		t.Fatalf("got %v", err)
	}
	if since := b.Note(c.work.UID).Since[decide.NotBound]; !since.Equal(gatherNow) {
		t.Errorf("its clock runs since %s, want %s", since, gatherNow)
	}
}
