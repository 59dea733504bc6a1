// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// scene is a hub that changes at random, and an index that hears of it late, more
// than once, or only of the last of several changes of an object; of every object
// it hears the last one in the end, which is what an informer guarantees.
type scene struct {
	random *rand.Rand

	works    map[types.NamespacedName]*workv1.ManifestWork
	clusters map[string]status.Cluster
	search   map[types.NamespacedName]heard

	pending map[string][]func() // by object, oldest first
	names   []string            // of objects with something pending

	index *Index
	feed  *Feed
	// published is what a writer would have written that looks only when told to.
	published map[types.NamespacedName]v1alpha1.AppSetStatuses
	dirty     map[types.NamespacedName]bool
}

// heard is what search told of each cluster last.
type heard map[string][]intermediate.Application

// take returns what is known after another report.
func (h heard) take(r *intermediate.Report) heard {
	next := heard{}
	for _, name := range []string{"a", "b", "c", "d"} {
		if !slices.Contains(r.UnreadClusters, name) {
			next[name] = nil
		} else if told, ever := h[name]; ever {
			next[name] = told
		}
	}
	for _, a := range r.Applications {
		if _, known := next[a.Cluster]; known && !slices.Contains(r.UnreadClusters, a.Cluster) {
			next[a.Cluster] = append(next[a.Cluster], a)
		}
	}
	return next
}

func newScene(seed uint64) *scene {
	s := &scene{
		random:    rand.New(rand.NewPCG(seed, 0)),
		works:     map[types.NamespacedName]*workv1.ManifestWork{},
		clusters:  map[string]status.Cluster{},
		search:    map[types.NamespacedName]heard{},
		pending:   map[string][]func(){},
		published: map[types.NamespacedName]v1alpha1.AppSetStatuses{},
		dirty:     map[types.NamespacedName]bool{},
	}
	s.index = New(func(key types.NamespacedName) { s.dirty[key] = true })
	s.feed = &Feed{index: s.index}
	return s
}

func (s *scene) one(of ...string) string { return of[s.random.IntN(len(of))] }

func (s *scene) set() types.NamespacedName {
	return types.NamespacedName{Namespace: s.one("argocd", "team"), Name: s.one("one", "two", "three")}
}

func (s *scene) later(object string, event func()) {
	if len(s.pending[object]) == 0 {
		s.names = append(s.names, object)
	}
	s.pending[object] = append(s.pending[object], event)
}

// change changes one object of the hub.
func (s *scene) change() {
	switch s.random.IntN(10) {
	case 0:
		name := s.one("a", "b", "c", "d")
		state := status.Cluster{Name: name, Exists: s.random.IntN(5) > 0}
		state.Available = state.Exists && s.random.IntN(3) > 0
		s.clusters[name] = state
		s.later("cluster "+name, func() { s.index.SetCluster(state) })
	case 1:
		key := s.set()
		r := s.report(key)
		s.later("search "+key.String(), func() {
			s.search[key] = s.search[key].take(r)
			s.index.SetSearch(r)
		})
	case 2:
		key := types.NamespacedName{Namespace: s.one("a", "b", "c", "d"), Name: s.one("x", "y", "z") + "-abcde"}
		delete(s.works, key)
		s.later("work "+key.String(), func() { s.index.DeleteWork(key) })
	default:
		w := s.work()
		key := types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
		s.works[key] = w
		s.later("work "+key.String(), func() {
			object, _ := Compact(w.DeepCopy())
			s.feed.setWork(object.(*manifestcache.Work))
		})
	}
}

func (s *scene) work() *workv1.ManifestWork {
	var feedback map[string]string
	if s.random.IntN(6) > 0 {
		feedback = says(s.one("Healthy", "Progressing", "Degraded", "Missing"), s.one("Synced", "OutOfSync", "Unknown"))
		feedback[contract.FeedbackOperationPhase] = s.one("Succeeded", "Failed", "Running")
		if s.random.IntN(3) == 0 {
			feedback["condition"+s.one(contract.ConditionTypes...)] = s.one("first", "second")
		}
	}
	w := manifestWork(s.set(), s.one("a", "b", "c", "d"), s.one("x", "y", "z"), feedback)
	w.Generation = int64(1 + s.random.IntN(2))
	if s.random.IntN(8) == 0 {
		w.DeletionTimestamp = &metav1.Time{Time: w.CreationTimestamp.Add(1)}
	}
	if s.random.IntN(20) == 0 {
		w.Labels[contract.PullLabel] = "false"
	}
	return w
}

var since = time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)

func (s *scene) report(key types.NamespacedName) *intermediate.Report {
	r := &intermediate.Report{Namespace: key.Namespace, Name: key.Name}
	for _, cluster := range []string{"a", "b", "c", "d"} {
		if s.random.IntN(5) == 0 {
			r.UnreadClusters = append(r.UnreadClusters, cluster)
		}
	}
	for range s.random.IntN(8) {
		a := intermediate.Application{Cluster: s.one("a", "b", "c", "d"), Namespace: "argocd", Name: s.one("x", "y", "z")}
		if slices.ContainsFunc(r.Applications, func(o intermediate.Application) bool { return o.Cluster == a.Cluster && o.Name == a.Name }) ||
			slices.Contains(r.UnreadClusters, a.Cluster) {
			continue
		}
		if s.random.IntN(4) == 0 {
			a.StaleSince = &since
		}
		a.Resources = []intermediate.Resource{{APIVersion: "v1", Kind: s.one("Service", "Pod", "ConfigMap"), Name: s.one("p", "q")}}
		a.Conditions = []intermediate.Condition{{Type: s.one("SyncError", "OperationError", "NewKindOfWarning"), Message: s.one("first", "third")}}
		r.Applications = append(r.Applications, a)
	}
	return r
}

// deliver lets the index hear of one object.
func (s *scene) deliver() {
	i := s.random.IntN(len(s.names))
	object := s.names[i]
	events := s.pending[object]
	lost := s.random.IntN(len(events))
	events[lost]()
	if s.random.IntN(4) == 0 {
		events[lost]() // a resync
	}
	s.pending[object] = events[lost+1:]
	if len(s.pending[object]) == 0 {
		s.names = slices.Delete(s.names, i, i+1)
	}
}

func statuses(v View) v1alpha1.AppSetStatuses {
	c := merge.Content{Rows: v.Rows, Resources: v.Resources, Summary: merge.Summarize(v.Rows)}
	return c.Statuses()
}

func (s *scene) publish() {
	for key := range s.dirty {
		s.published[key] = statuses(s.index.View(key))
	}
	clear(s.dirty)
}

// scratch works a report out from the hub as it is, in the plainest way.
func (s *scene) scratch(key types.NamespacedName) v1alpha1.AppSetStatuses {
	said := map[string]intermediate.Application{}
	for _, applications := range s.search[key] {
		for _, a := range applications {
			said[a.Cluster+"/"+a.Name] = a
		}
	}
	var refs []v1alpha1.ResourceRef
	var rows []*merge.Row
	ofSet := func(w *workv1.ManifestWork) bool {
		return w.Annotations[contract.HostingAnnotation] == key.String() && w.Labels[contract.PullLabel] == "true"
	}
	staying := map[string]bool{}
	for _, w := range s.works {
		if ofSet(w) && w.DeletionTimestamp == nil {
			staying[w.Annotations[contract.HubNameAnnotation]] = true
		}
	}
	for _, w := range s.works {
		var search merge.Search
		if a, found := said[w.Namespace+"/"+w.Annotations[contract.HubNameAnnotation]]; found && ofSet(w) && len(w.Status.ResourceStatus.Manifests) > 0 {
			// without a manifest nobody knows its namespace there
			search = saidOf(&a)
			for _, x := range a.Resources {
				refs = append(refs, v1alpha1.ResourceRef{APIVersion: x.APIVersion, Kind: x.Kind, Name: x.Name, Namespace: x.Namespace})
			}
		}
		if !ofSet(w) || w.DeletionTimestamp != nil && staying[w.Annotations[contract.HubNameAnnotation]] {
			continue
		}
		cluster, known := s.clusters[w.Namespace]
		if !known {
			cluster = status.Cluster{Name: w.Namespace}
		}
		o := status.Work(w, cluster)
		a := merge.App{
			HubNamespace: w.Annotations[contract.HubNamespaceAnnotation], HubName: w.Annotations[contract.HubNameAnnotation], Cluster: w.Namespace, Work: w.Name,
			Reported: o.Reported, Health: o.Health, Sync: o.Sync, Revision: o.Revision,
			OperationPhase: o.Operation.Phase, OperationStartedAt: o.Operation.StartedAt, OperationMessage: o.Operation.Message,
		}
		for _, c := range o.ReportConditions() {
			a.Conditions = append(a.Conditions, v1alpha1.Condition(c))
		}
		rows = append(rows, merge.NewRow(a, search))
	}
	slices.SortFunc(rows, merge.Compare)
	return statuses(View{Rows: rows, Resources: merge.Resources(refs)})
}

func TestIndexAgreesWithRecomputation(t *testing.T) {
	const rounds, changes = 300, 60
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := newScene(seed)
	for round := range rounds {
		for range changes {
			s.change()
			for len(s.names) > 0 && s.random.IntN(3) > 0 {
				s.deliver()
			}
			if s.random.IntN(10) == 0 {
				s.publish()
			}
		}
		for len(s.names) > 0 {
			s.deliver()
		}
		s.publish()
		for _, namespace := range []string{"argocd", "team"} {
			for _, name := range []string{"one", "two", "three"} {
				key := types.NamespacedName{Namespace: namespace, Name: name}
				want := s.scratch(key)
				if diff := cmp.Diff(want, statuses(s.index.View(key))); diff != "" {
					t.Fatalf("seed %d, round %d, %s: the index differs from a recomputation:\n%s", seed, round, key, diff)
				}
				written, ever := s.published[key]
				if len(want.ClusterConditions)+len(want.Resources) == 0 && !ever {
					continue
				}
				if diff := cmp.Diff(want, written); diff != "" {
					t.Fatalf("seed %d, round %d, %s: the index did not tell of a change:\n%s", seed, round, key, diff)
				}
			}
		}
		s.checkBooks(t)
	}
}

// checkBooks looks for what the index should have dropped.
func (s *scene) checkBooks(t *testing.T) {
	t.Helper()
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	entries, stale := 0, 0
	for key, set := range s.index.sets {
		entries += len(set.entries)
		chained := 0
		for app, e := range set.applications {
			for ; e != nil; e = e.sibling {
				if chained++; hashOf(applicationOf(e.work)) != app {
					t.Errorf("%s: a work of %s is under the hash of another Application", key, applicationOf(e.work))
				}
			}
		}
		if chained != len(set.entries) {
			t.Errorf("%s: %d works by Application, want %d", key, chained, len(set.entries))
		}
		if len(set.entries) == 0 && set.search == nil && set.remembered == nil {
			t.Errorf("%s is kept for nothing", key)
		}
	}
	for name, c := range s.index.clusters {
		stale += c.stale()
		if len(c.works) == 0 && !c.state.Exists {
			t.Errorf("cluster %s is kept for nothing", name)
		}
	}
	if entries != len(s.index.works) || stale != s.index.stale {
		t.Errorf("%d rows for %d works, %d stale clusters counted as %d", entries, len(s.index.works), stale, s.index.stale)
	}
}

func BenchmarkSetWork(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := New(func(types.NamespacedName) {})
			var flips [2]*manifestcache.Work
			for i := range n {
				cluster := fmt.Sprintf("cluster-%05d", i/10)
				x.SetCluster(available(cluster))
				set := types.NamespacedName{Namespace: "argocd", Name: fmt.Sprintf("set-%d", i%10)}
				w := manifestWork(set, cluster, set.Name+"-"+cluster, says("Healthy", "Synced"))
				x.SetWork(compact(b, w))
				if i == n/2 {
					flips[0] = compact(b, w)
					flips[1] = compact(b, manifestWork(set, cluster, set.Name+"-"+cluster, says("Degraded", "Synced")))
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				x.SetWork(flips[i%2])
			}
		})
	}
}

func BenchmarkCompact(b *testing.B) {
	w := manifestWork(guestbook, "cluster-00001", "guestbook-cluster-00001", says("Healthy", "Synced"))
	b.ReportAllocs()
	for b.Loop() {
		compact(b, w)
	}
}

// BenchmarkMemory reports what one Application costs: its work in the cache, its
// entry and its row. The API server sends each as bytes of its own, so the works
// are decoded from JSON here too.
func BenchmarkMemory(b *testing.B) {
	const n = 20_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		x := New(func(types.NamespacedName) {})
		for i := range n {
			cluster := fmt.Sprintf("cluster-%05d", i/10)
			x.SetCluster(available(cluster))
			set := types.NamespacedName{Namespace: "argocd", Name: fmt.Sprintf("set-%d", i%10)}
			says := says("Healthy", "Synced")
			says[contract.FeedbackOperationStartedAt] = fmt.Sprintf("2026-11-20T10:%02d:%02dZ", i/60%60, i%60)
			data, err := json.Marshal(manifestWork(set, cluster, set.Name+"-"+cluster, says))
			if err != nil {
				b.Fatal(err)
			}
			var w workv1.ManifestWork
			if err := json.Unmarshal(data, &w); err != nil {
				b.Fatal(err)
			}
			c := compact(b, &w)
			if err := store.Add(c); err != nil {
				b.Fatal(err)
			}
			x.SetWork(c)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/Application")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB/20000")
		runtime.KeepAlive(store)
		runtime.KeepAlive(x)
	}
}

// saidOf is what a row says of what search says of an Application.
func saidOf(a *intermediate.Application) merge.Search { return (&told{search: searchOf(a)}).said() }
