// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Feedback alone enqueues no Application. The first feedback that reports a change as applied ends the
// measured time of the change.
func TestFeedback_timesAChangeWithoutAReconcile(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	_, r := newReconciler(clients{client: pulled{}, index: manifestcache.NewIndex(indexer(t)), now: func() time.Time { return now }}, nil)
	work := func(generation, observed int64, note string) *manifestcache.Work {
		w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Name: "w", Generation: generation, Labels: map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: "timed"},
		}}
		if note != "" {
			w.Annotations[contract.RequestAnnotation] = note
		}
		if observed > 0 {
			w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: observed}}
		}
		kept, _ := manifestcache.Compact(w, nil)
		return kept
	}
	key := client.ObjectKey{Namespace: "team", Name: "timed"}
	for name, c := range map[string]struct {
		reason        string
		before, after *manifestcache.Work
		wakes         bool
		timed         uint64
	}{
		"applied":     {reason: "the agent has applied the change", before: work(1, 0, ""), after: work(1, 1, ""), timed: 1},
		"feedback":    {reason: "it was applied before", before: work(1, 1, ""), after: work(1, 1, "")},
		"behind":      {reason: "an older change was applied", before: work(2, 0, ""), after: work(2, 1, "")},
		"new":         {reason: "somebody changed the spec", before: work(1, 1, ""), after: work(2, 1, ""), wakes: true},
		"withRequest": {reason: "a request goes on with feedback", before: work(1, 0, "r"), after: work(1, 1, "r"), wakes: true, timed: 1},
	} {
		r.tracker.forget(key)
		r.tracker.note(key, now.Add(-2*time.Second))
		r.tracker.wrote(key, "update", now.Add(-time.Second))
		before := observations(t)
		if got := r.workChanged(t.Context()).Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.wakes {
			t.Errorf("%s: %s: wakes is %t", name, c.reason, got)
		}
		if got := observations(t) - before; got != c.timed {
			t.Errorf("%s: %s: timed %d times, want %d", name, c.reason, got, c.timed)
		}
	}
}

// pulled returns each requested Application with the pull label.
type pulled struct{ client.Client }

func (pulled) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetLabels(map[string]string{contract.PullLabel: "true"})
	return nil
}

func observations(t *testing.T) uint64 {
	t.Helper()
	var m dto.Metric
	if err := appliedSeconds.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetHistogram().GetSampleCount()
}

// indexer returns an empty store of works with the required indexes.
func indexer(t *testing.T) toolscache.Indexer {
	t.Helper()
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	for name, keys := range manifestcache.IndexFuncs() {
		if err := store.AddIndexers(toolscache.Indexers{name: keys}); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// The metrics count waiting works by the cause of the wait, and report the longest wait.
func TestEndings_countWaitingWorksByCause(t *testing.T) {
	now := gatherNow
	e := &endings{now: func() time.Time { return now }, apps: map[types.NamespacedName][]waitingEnd{}}
	set := func(app string, fates ...decide.Fate) {
		e.set(decide.Plan{Key: types.NamespacedName{Namespace: "team", Name: app}, Fates: fates}, decide.Verdict{Allowed: map[types.UID]bool{"held": false}})
		now = now.Add(time.Minute)
	}
	waiting := func(uid types.UID, waitsFor string) decide.Fate {
		return decide.Fate{UID: uid, Act: decide.End, Due: true, Why: decide.Deleting, Next: decide.StepWait, Wait: decide.Wait{For: waitsFor}}
	}
	held := waiting("held", decide.WaitsForAgent)
	held.Lane = decide.Lane{Kind: decide.Tenant}
	written := waiting("written", "")
	written.Next = decide.StepWrite
	registry := prometheus.NewRegistry()
	registry.MustRegister(e)
	compare := func(step string, want map[string][2]float64) {
		t.Helper()
		for _, waitsFor := range []string{decide.WaitsForAgent, decide.WaitsForFinalizer} {
			got := [2]float64{
				sumIn(t, registry, "propagation_works_ending", "waits_for", waitsFor),
				sumIn(t, registry, "propagation_works_ending_oldest_seconds", "waits_for", waitsFor),
			}
			if got != want[waitsFor] {
				t.Errorf("%s: for %s wait %v, the oldest for %v seconds", step, waitsFor, got[0], got[1])
			}
		}
	}
	set("a", waiting("a1", decide.WaitsForAgent), held, written)
	set("b", waiting("b1", decide.WaitsForAgent))
	compare("two wait for their agents, another is held and one was just written", map[string][2]float64{"agent": {2, 120}})
	set("a", waiting("a1", decide.WaitsForFinalizer), waiting("a2", decide.WaitsForAgent))
	compare("one waits for something else by now, and has waited as long", map[string][2]float64{"agent": {2, 120}, "finalizer": {1, 180}})
	set("a")
	set("b")
	compare("nothing waits", nil)
}

// A change of an AppProject reaches each work that carries it, even if the Application no longer exists.
func TestOfProject_reachesWorksThatCarryIt(t *testing.T) {
	for name, c := range map[string]struct {
		reason, namespace, carries, changed string
		want                                bool
	}{
		"carried": {reason: "the work carries it", namespace: "team", carries: "wide", changed: "wide", want: true},
		"another": {reason: "it carries another one", namespace: "team", carries: "wide", changed: "narrow"},
		"default": {reason: "whether it admits the namespace is judged", namespace: "team", carries: "default", changed: "default", want: true},
		"argocd":  {reason: "the default project says nothing about the administrator's own", namespace: "argocd", carries: "default", changed: "default"},
	} {
		app := settled(t).app
		app.Namespace, app.Spec = c.namespace, json.RawMessage(`{"project":"`+c.carries+`","destination":{}}`)
		indexed := indexer(t)
		if err := indexed.Add(appcache.Compact(workOn(t, app, "cluster1", nil))); err != nil {
			t.Fatal(err)
		}
		_, wa := newReconciler(clients{client: noObjects{}, index: manifestcache.NewIndex(indexed), options: Options{ArgoCDNamespace: "argocd"}}, nil)
		var keys []client.ObjectKey
		for _, r := range wa.ofProject(t.Context(), project(c.changed, "team", "*")) {
			keys = append(keys, r.NamespacedName)
		}
		if got := slices.Contains(keys, client.ObjectKeyFromObject(app)); got != c.want {
			t.Errorf("%s: %s: it reaches %v", name, c.reason, keys)
		}
	}
}

// noObjects is a cache without objects.
type noObjects struct{ client.Client }

func (noObjects) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (noObjects) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
