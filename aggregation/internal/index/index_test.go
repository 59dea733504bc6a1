// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

func TestIndex_hasOneRowForEachApplication(t *testing.T) {
	x, _ := spied()
	x.SetCluster(available("b"))
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "b", "app", shows("Healthy", "Synced"))))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "two", shows("Degraded", "Synced"))))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "one", nil)))
	expect(t, "two Applications on one cluster stay two, in order, and without feedback one is Unknown",
		rows(x, guestbook), []string{"a: Unknown Unknown", "a: Degraded Synced", "b: Healthy Synced"})

	x.DeleteWork(types.NamespacedName{Namespace: "a", Name: "two-abcde"})
	expect(t, "a withdrawn Application has no row", rows(x, guestbook), []string{"a: Unknown Unknown", "b: Healthy Synced"})
}

// The row of an Application with several sources has a revision for each source, and the first resource
// that is degraded. A failed comparison does not remove the known revisions.
func TestRow_hasRevisionsOfSeveralSourcesAndFirstResource(t *testing.T) {
	x, _ := spied()
	x.SetCluster(available("a"))
	feedback := shows("Degraded", "Synced")
	delete(feedback, contract.FeedbackSyncRevision)
	feedback[contract.FeedbackRevisions(0)], feedback[contract.FeedbackRevisions(1)] = "one", "two"
	feedback["resourceDegradedKind"], feedback["resourceDegradedName"] = "Deployment", "ui"
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", feedback)))
	row := x.View(guestbook).Rows[0]
	expect(t, "revisions", row.SyncRevisions, []string{"one", "two"})
	expect(t, "no revision", row.SyncRevision, "")
	expect(t, "conditions", row.Conditions, []v1alpha1.Condition{{Type: status.DegradedResource, Message: "Deployment ui"}})

	unknown := shows("Degraded", "Unknown")
	delete(unknown, contract.FeedbackSyncRevision)
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", unknown)))
	expect(t, "a comparison that failed does not unmake the one before", x.View(guestbook).Rows[0].SyncRevisions, []string{"one", "two"})
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Healthy", "Synced"))))
	row = x.View(guestbook).Rows[0]
	expect(t, "one source is left", row.SyncRevisions, []string(nil))
	expect(t, "and nothing is broken", row.Conditions, []v1alpha1.Condition(nil))
}

func TestIndex_reportsOnlyChanges(t *testing.T) {
	other := types.NamespacedName{Namespace: "argocd", Name: "other"}
	x, published := spied()
	x.SetCluster(available("a"))
	work := manifestWork(guestbook, "a", "app", shows("Healthy", "Synced"))
	x.SetWork(compact(t, work))
	x.SetWork(compact(t, manifestWork(other, "a", "other", shows("Healthy", "Synced"))))
	expect(t, "new rows are published", published(), map[types.NamespacedName]int{guestbook: 1, other: 1})

	x.SetWork(compact(t, work))
	x.SetCluster(available("a"))
	expect(t, "what says the same is not", published(), map[types.NamespacedName]int{})

	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Degraded", "Synced"))))
	expect(t, "a change is published for its own ApplicationSet", published(), map[types.NamespacedName]int{guestbook: 1})

	x.SetCluster(status.Cluster{Name: "a", Exists: true})
	expect(t, "a cluster's change to all that have rows on it, once each", published(), map[types.NamespacedName]int{guestbook: 1, other: 1})
}

func TestSetCluster_makesOnlyRowsOfTheCluster(t *testing.T) {
	x, _ := spied()
	for i := range 10 {
		name := fmt.Sprintf("cluster-%d", i)
		x.SetCluster(available(name))
		x.SetWork(compact(t, manifestWork(guestbook, name, "app", shows("Healthy", "Synced"))))
	}
	before := x.View(guestbook).Rows
	x.SetCluster(status.Cluster{Name: "cluster-3", Exists: true, Message: "lease is old"})
	for i, r := range x.View(guestbook).Rows {
		if same := r == before[i]; same != (i != 3) {
			t.Errorf("row %d is the same: %v; only row 3 is of the cluster", i, same)
		}
	}
	expect(t, "a cluster that cannot be heard is not green", rows(x, guestbook)[3], "cluster-3: Unknown Unknown ClusterUnreachable")
	if x.stale != 1 {
		t.Errorf("%d clusters are counted as stale, want 1", x.stale)
	}
	x.SetCluster(available("cluster-3"))
	expect(t, "and all returns by itself", rows(x, guestbook)[3], "cluster-3: Healthy Synced")
	x.SetCluster(status.Cluster{Name: "cluster-3"})
	expect(t, "a cluster that is gone from the hub cannot be heard", rows(x, guestbook)[3], "cluster-3: Unknown Unknown ClusterUnreachable")
	x.DeleteWork(types.NamespacedName{Namespace: "cluster-3", Name: "app-abcde"})
	if x.stale != 0 || x.clusters["cluster-3"] != nil {
		t.Error("a cluster that is neither there nor used is still remembered")
	}
}

func TestSetWork_movesAnApplicationBetweenSets(t *testing.T) {
	other := types.NamespacedName{Namespace: "argocd", Name: "other"}
	x, published := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Healthy", "Synced"))))
	published()
	x.SetWork(compact(t, manifestWork(other, "a", "app", shows("Healthy", "Synced"))))
	expect(t, "both reports are published", published(), map[types.NamespacedName]int{guestbook: 1, other: 1})
	expect(t, "it left the one", len(rows(x, guestbook)), 0)
	expect(t, "and is in the other", rows(x, other), []string{"a: Healthy Synced"})
}

// A retargeted Application has a ManifestWork in both clusters' Namespaces until the old one is deleted.
func TestIndex_hasOneRowForARetargetedApplication(t *testing.T) {
	x, published := spied()
	x.SetCluster(available("a"))
	x.SetCluster(available("b"))
	old := manifestWork(guestbook, "a", "app", shows("Healthy", "Synced"))
	x.SetWork(compact(t, old))
	published()
	old.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	x.SetWork(compact(t, old))
	expect(t, "what is being withdrawn is still there", rows(x, guestbook), []string{"a: Healthy Synced"})
	expect(t, "so nothing has changed", published(), map[types.NamespacedName]int{})
	x.SetWork(compact(t, manifestWork(guestbook, "b", "app", nil)))
	expect(t, "the new target speaks alone", rows(x, guestbook), []string{"b: Unknown Unknown"})
	x.DeleteWork(types.NamespacedName{Namespace: "b", Name: "app-abcde"})
	expect(t, "unless it goes first", rows(x, guestbook), []string{"a: Healthy Synced"})
	x.DeleteWork(types.NamespacedName{Namespace: "a", Name: "app-abcde"})
	expect(t, "nothing is left to remember", len(x.sets), 0)
}

// When a sync starts, Argo CD clears the operation for 50 to 70 ms.
func TestSetWork_fillsTransientGaps(t *testing.T) {
	x, published := spied()
	x.SetCluster(available("a"))
	full := shows("Healthy", "Synced")
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", full)))
	published()
	gap := shows("Healthy", "Synced")
	delete(gap, contract.FeedbackOperationPhase)
	delete(gap, contract.FeedbackOperationStartedAt)
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", gap)))
	expect(t, "an operation that vanishes is no news", published(), map[types.NamespacedName]int{})
	expect(t, "the row still has it", x.View(guestbook).Rows[0].OperationStatePhase, "Succeeded")
}

// The informers, the directory watch and the writers use the index from different goroutines.
func TestIndex_allowsConcurrentUse(t *testing.T) {
	var published atomic.Int64
	x := New(func(types.NamespacedName) { published.Add(1) })
	var all sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprintf("cluster-%d", i)
		work := compact(t, manifestWork(guestbook, name, "app", shows("Healthy", "Synced")))
		all.Go(func() {
			for range 100 {
				x.SetWork(work)
				x.SetCluster(status.Cluster{Name: name, Exists: true})
				x.SetSearch(&intermediate.Report{Namespace: guestbook.Namespace, Name: guestbook.Name})
				x.View(guestbook)
				x.DeleteWork(keyOf(work))
				x.DeleteSearch(guestbook)
			}
			x.SetCluster(available(name))
			x.SetWork(work)
		})
	}
	all.Wait()
	if n := len(x.View(guestbook).Rows); n != 8 || published.Load() == 0 || x.stale != 0 {
		t.Errorf("%d rows, published %d times, %d stale clusters: want 8 rows, published, none stale", n, published.Load(), x.stale)
	}
}

func TestCompact(t *testing.T) {
	for name, test := range map[string]struct {
		why    string
		change func(*workv1.ManifestWork)
		ours   bool
	}{
		"ours":             {"a pulled Application of an ApplicationSet", func(*workv1.ManifestWork) {}, true},
		"no label":         {"a work that merely names an ApplicationSet is someone else's", func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) }, false},
		"label is false":   {"the label is a boolean", func(w *workv1.ManifestWork) { w.Labels[contract.PullLabel] = "false" }, false},
		"no annotation":    {"nobody's row", func(w *workv1.ManifestWork) { delete(w.Annotations, contract.HostingAnnotation) }, false},
		"odd annotation":   {"not a name", func(w *workv1.ManifestWork) { w.Annotations[contract.HostingAnnotation] = "a/b/c" }, false},
		"no maps whatever": {"an object without metadata does no harm", func(w *workv1.ManifestWork) { w.Labels, w.Annotations = nil, nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			full := manifestWork(guestbook, "a", "app", shows("Healthy", "Synced"))
			test.change(full)
			w := compact(t, full)
			if ours := setOf(w) == guestbook; ours != test.ours {
				t.Errorf("%s: belongs to %q", test.why, setOf(w))
			}
			again, err := Compact(w)
			if err != nil || again != any(w) {
				t.Error("a cache may transform twice: the second time must change nothing")
			}
		})
	}
}
