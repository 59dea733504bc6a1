// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// scene is a hub that changes at random, and an index that receives the changes. The index may receive a
// change late or twice, or miss all but the last of several changes of an object. Like an informer, the
// scene always delivers the last change of each object.
type scene struct {
	random *rand.Rand

	works    map[types.NamespacedName]*workv1.ManifestWork
	clusters map[string]status.Cluster
	search   map[types.NamespacedName]answers

	pending map[string][]func() // by object, oldest first
	names   []string            // of the objects with pending changes

	index *Index
	feed  *Feed
	// published has the reports of a writer that reads the index only when a report is enqueued.
	published map[types.NamespacedName]v1alpha1.AppSetStatuses
	dirty     map[types.NamespacedName]bool
}

// answers has search's last answer for each cluster.
type answers map[string][]intermediate.Application

// take returns the answers after another report.
func (h answers) take(r *intermediate.Report) answers {
	next := answers{}
	for _, a := range r.Applications {
		next[a.Cluster] = append(next[a.Cluster], a)
	}
	return next
}

func newScene(seed uint64) *scene {
	s := &scene{
		random:    rand.New(rand.NewPCG(seed, 0)),
		works:     map[types.NamespacedName]*workv1.ManifestWork{},
		clusters:  map[string]status.Cluster{},
		search:    map[types.NamespacedName]answers{},
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
		feedback = shows(s.one("Healthy", "Progressing", "Degraded", "Missing"), s.one("Synced", "OutOfSync", "Unknown"))
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
	for range s.random.IntN(8) {
		a := intermediate.Application{Cluster: s.one("a", "b", "c", "d"), Namespace: "argocd", Name: s.one("x", "y", "z")}
		if slices.ContainsFunc(r.Applications, func(o intermediate.Application) bool { return o.Cluster == a.Cluster && o.Name == a.Name }) {
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

// deliver passes one pending change to the index and drops the older changes of that object.
func (s *scene) deliver() {
	i := s.random.IntN(len(s.names))
	object := s.names[i]
	events := s.pending[object]
	lost := s.random.IntN(len(events))
	events[lost]()
	if s.random.IntN(4) == 0 {
		events[lost]() // as in a resync
	}
	s.pending[object] = events[lost+1:]
	if len(s.pending[object]) == 0 {
		s.names = slices.Delete(s.names, i, i+1)
	}
}
