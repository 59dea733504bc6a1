// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

var guestbook = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}

// manifestWork is the ManifestWork of an Application of set, with feedback unless
// there is none.
func manifestWork(set types.NamespacedName, cluster, app string, feedback map[string]string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster, Name: app + "-abcde", Generation: 1,
		CreationTimestamp: metav1.NewTime(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)),
		Labels:            map[string]string{contract.PullLabel: "true", contract.ApplicationSetLabel: "true"},
		Annotations: map[string]string{
			contract.HostingAnnotation: set.String(), contract.HubNamespaceAnnotation: set.Namespace, contract.HubNameAnnotation: app,
		},
	}}
	if feedback == nil {
		return w
	}
	w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	m := workv1.ManifestCondition{
		ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural, Namespace: "argocd", Name: app},
		Conditions:   []metav1.Condition{{Type: workv1.ManifestAvailable, Status: metav1.ConditionTrue}},
	}
	for name, value := range feedback {
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
	}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
	return w
}

// says is the feedback of an Application.
func says(health, sync string) map[string]string {
	return map[string]string{
		contract.FeedbackHealthStatus: health, contract.FeedbackSyncStatus: sync, contract.FeedbackSyncRevision: "53e28ff2",
		contract.FeedbackOperationPhase: "Succeeded", contract.FeedbackOperationStartedAt: "2026-11-20T10:00:00Z",
	}
}

func compact(t testing.TB, w *workv1.ManifestWork) *manifestcache.Work {
	t.Helper()
	object, err := Compact(w)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*manifestcache.Work)
}

func available(name string) status.Cluster {
	return status.Cluster{Name: name, Exists: true, Available: true}
}

// spied returns an index, and the ApplicationSets that it told about since the
// last call of told.
func spied() (x *Index, told func() map[types.NamespacedName]int) {
	seen := map[types.NamespacedName]int{}
	x = New(func(key types.NamespacedName) { seen[key]++ })
	return x, func() map[types.NamespacedName]int {
		was := seen
		seen = map[types.NamespacedName]int{}
		return was
	}
}

// statuses of an ApplicationSet, with "cluster: health sync [conditions]" a row.
func rows(x *Index, key types.NamespacedName) []string {
	var lines []string
	for _, r := range x.View(key).Rows {
		line := r.Cluster + ": " + r.HealthStatus + " " + r.SyncStatus
		for _, c := range r.Conditions {
			line += " " + c.Type
		}
		lines = append(lines, line)
	}
	return lines
}

func expect(t *testing.T, why string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", why, diff)
	}
}

func TestOneRowForEachApplication(t *testing.T) {
	x, _ := spied()
	x.SetCluster(available("b"))
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "b", "app", says("Healthy", "Synced"))))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "two", says("Degraded", "Synced"))))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "one", nil)))
	expect(t, "two Applications on one cluster stay two, in order, and without feedback one is Unknown",
		rows(x, guestbook), []string{"a: Unknown Unknown", "a: Degraded Synced", "b: Healthy Synced"})

	x.DeleteWork(types.NamespacedName{Namespace: "a", Name: "two-abcde"})
	expect(t, "a withdrawn Application has no row", rows(x, guestbook), []string{"a: Unknown Unknown", "b: Healthy Synced"})
}

func TestOnlyWhatChangedIsTold(t *testing.T) {
	other := types.NamespacedName{Namespace: "argocd", Name: "other"}
	x, told := spied()
	x.SetCluster(available("a"))
	work := manifestWork(guestbook, "a", "app", says("Healthy", "Synced"))
	x.SetWork(compact(t, work))
	x.SetWork(compact(t, manifestWork(other, "a", "other", says("Healthy", "Synced"))))
	expect(t, "new rows are told", told(), map[types.NamespacedName]int{guestbook: 1, other: 1})

	x.SetWork(compact(t, work))
	x.SetCluster(available("a"))
	expect(t, "what says the same is not", told(), map[types.NamespacedName]int{})

	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", says("Degraded", "Synced"))))
	expect(t, "a change is told to its own ApplicationSet", told(), map[types.NamespacedName]int{guestbook: 1})

	x.SetCluster(status.Cluster{Name: "a", Exists: true})
	expect(t, "a cluster's change to all that have rows on it, once each", told(), map[types.NamespacedName]int{guestbook: 1, other: 1})
}

func TestClusterFlipMakesItsOwnRowsOnly(t *testing.T) {
	x, _ := spied()
	for i := range 10 {
		name := fmt.Sprintf("cluster-%d", i)
		x.SetCluster(available(name))
		x.SetWork(compact(t, manifestWork(guestbook, name, "app", says("Healthy", "Synced"))))
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

func TestApplicationMovesBetweenSets(t *testing.T) {
	other := types.NamespacedName{Namespace: "argocd", Name: "other"}
	x, told := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", says("Healthy", "Synced"))))
	told()
	x.SetWork(compact(t, manifestWork(other, "a", "app", says("Healthy", "Synced"))))
	expect(t, "both reports are told", told(), map[types.NamespacedName]int{guestbook: 1, other: 1})
	expect(t, "it left the one", len(rows(x, guestbook)), 0)
	expect(t, "and is in the other", rows(x, other), []string{"a: Healthy Synced"})
}

// A retargeted Application has a work on either cluster until the old one is gone.
func TestRetargetedApplicationHasOneRow(t *testing.T) {
	x, told := spied()
	x.SetCluster(available("a"))
	x.SetCluster(available("b"))
	old := manifestWork(guestbook, "a", "app", says("Healthy", "Synced"))
	x.SetWork(compact(t, old))
	told()
	old.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	x.SetWork(compact(t, old))
	expect(t, "what is being withdrawn is still there", rows(x, guestbook), []string{"a: Healthy Synced"})
	expect(t, "so nothing has changed", told(), map[types.NamespacedName]int{})
	x.SetWork(compact(t, manifestWork(guestbook, "b", "app", nil)))
	expect(t, "the new target speaks alone", rows(x, guestbook), []string{"b: Unknown Unknown"})
	x.DeleteWork(types.NamespacedName{Namespace: "b", Name: "app-abcde"})
	expect(t, "unless it goes first", rows(x, guestbook), []string{"a: Healthy Synced"})
	x.DeleteWork(types.NamespacedName{Namespace: "a", Name: "app-abcde"})
	expect(t, "nothing is left to remember", len(x.sets), 0)
}

// Argo CD clears the operation for 50 to 70 ms when a sync starts.
func TestNothingFlickers(t *testing.T) {
	x, told := spied()
	x.SetCluster(available("a"))
	full := says("Healthy", "Synced")
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", full)))
	told()
	gap := says("Healthy", "Synced")
	delete(gap, contract.FeedbackOperationPhase)
	delete(gap, contract.FeedbackOperationStartedAt)
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", gap)))
	expect(t, "an operation that vanishes is no news", told(), map[types.NamespacedName]int{})
	expect(t, "the row still has it", x.View(guestbook).Rows[0].OperationStatePhase, "Succeeded")
}

func TestSearchAddsResourcesAndConditions(t *testing.T) {
	x, told := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", says("Degraded", "OutOfSync"))))
	x.SetWork(compact(t, manifestWork(guestbook, "b", "app", says("Degraded", "OutOfSync"))))
	x.SetCluster(available("b"))
	told()
	report := &intermediate.Report{Namespace: "argocd", Name: "guestbook", Applications: []intermediate.Application{{
		Cluster: "a", Namespace: "argocd", Name: "app",
		Resources:  []intermediate.Resource{{APIVersion: "v1", Kind: "Service", Name: "ui"}, {APIVersion: "v1", Kind: "Pod", Name: "ui-1"}},
		Conditions: []intermediate.Condition{{Type: "NewKindOfError", Message: "no"}},
	}, {
		Cluster: "b", Namespace: "argocd", Name: "app",
		Resources: []intermediate.Resource{{APIVersion: "v1", Kind: "Service", Name: "ui"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "ui"}},
	}}}
	x.SetSearch(report)
	expect(t, "search is told", told(), map[types.NamespacedName]int{guestbook: 1})
	expect(t, "an error that search knows is in the row", rows(x, guestbook), []string{"a: Degraded OutOfSync NewKindOfError", "b: Degraded OutOfSync"})
	expect(t, "resources are the union over all clusters", x.View(guestbook).Resources.Refs(), []v1alpha1.ResourceRef{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "ui"}, {APIVersion: "v1", Kind: "Service", Name: "ui"},
	})
	x.SetSearch(report)
	expect(t, "the same report again is not told", told(), map[types.NamespacedName]int{})
	x.SetSearch(&intermediate.Report{Namespace: "argocd", Name: "guestbook"})
	expect(t, "a good report that says there is nothing is believed", rows(x, guestbook), []string{"a: Degraded OutOfSync", "b: Degraded OutOfSync"})
	expect(t, "also about resources", len(x.View(guestbook).Resources.Refs()), 0)
}

// A new leader may find no intermediate report in its pod.
func TestOldReportStandsInForSearch(t *testing.T) {
	old := &v1alpha1.AppSetStatuses{
		Resources: []v1alpha1.ResourceRef{{APIVersion: "v1", Kind: "Service", Name: "ui"}},
		ClusterConditions: []v1alpha1.ClusterCondition{{
			Cluster: "a", App: "argocd/app/a/app-abcde", HealthStatus: "Degraded", SyncStatus: "OutOfSync", SyncRevision: "53e28ff2",
			OperationStatePhase: "Succeeded", OperationStateStartedAt: "2026-11-20T10:00:00Z",
			Conditions: []v1alpha1.Condition{{Type: "ClusterUnreachable", Message: "old"}, {Type: "NewKindOfError", Message: "n"}, {Type: "SyncError", Message: "s"}},
		}},
	}
	x, _ := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", says("Degraded", "OutOfSync"))))
	x.Remember(guestbook, old)
	expect(t, "what only search tells is kept while nothing else changed; what feedback tells, feedback tells", rows(x, guestbook), []string{"a: Degraded OutOfSync NewKindOfError"})
	expect(t, "resources are kept", x.View(guestbook).Resources.Refs(), old.Resources)

	gap := says("Degraded", "OutOfSync")
	delete(gap, contract.FeedbackOperationPhase)
	y, _ := spied()
	y.SetCluster(available("a"))
	y.Remember(guestbook, old)
	y.SetWork(compact(t, manifestWork(guestbook, "a", "app", gap)))
	expect(t, "an operation that is missing just now is the one of the report", y.View(guestbook).Rows[0].OperationStatePhase, "Succeeded")

	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", says("Progressing", "OutOfSync"))))
	expect(t, "new feedback is newer than an old report", rows(x, guestbook), []string{"a: Progressing OutOfSync"})
	x.SetSearch(&intermediate.Report{Namespace: "argocd", Name: "guestbook"})
	x.Remember(guestbook, old)
	expect(t, "and so is search", len(x.View(guestbook).Resources.Refs()), 0)
	x.Forget(guestbook)
	x.DeleteWork(types.NamespacedName{Namespace: "a", Name: "app-abcde"})
	expect(t, "nothing is left of an ApplicationSet that is gone", len(x.sets), 0)
}

// Informers, the directory watch and the writers come from goroutines of their own.
func TestConcurrentUse(t *testing.T) {
	var told atomic.Int64
	x := New(func(types.NamespacedName) { told.Add(1) })
	var all sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprintf("cluster-%d", i)
		work := compact(t, manifestWork(guestbook, name, "app", says("Healthy", "Synced")))
		all.Go(func() {
			for range 100 {
				x.SetWork(work)
				x.SetCluster(status.Cluster{Name: name, Exists: true})
				x.SetSearch(&intermediate.Report{Namespace: guestbook.Namespace, Name: guestbook.Name})
				x.View(guestbook)
				x.DeleteWork(keyOf(work))
				x.Forget(guestbook)
			}
			x.SetCluster(available(name))
			x.SetWork(work)
		})
	}
	all.Wait()
	if n := len(x.View(guestbook).Rows); n != 8 || told.Load() == 0 || x.stale != 0 {
		t.Errorf("%d rows, told %d times, %d stale clusters: want 8 rows, told, none stale", n, told.Load(), x.stale)
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
			full := manifestWork(guestbook, "a", "app", says("Healthy", "Synced"))
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
