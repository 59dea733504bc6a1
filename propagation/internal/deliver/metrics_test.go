// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Feedback enqueues nothing here, the first that says that a change is applied neither;
// it ends the time that the change took.
func TestAppliedIsTimedWithoutWork(t *testing.T) {
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

// pulled has every Application, and each is pulled.
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

// indexer returns an empty store of works with the indexes that they need.
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
