// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// spied returns rows, and a function that returns the ApplicationSets that the rows reported since its last call.
func spied() (r *Rows, told func() map[types.NamespacedName]int) {
	seen := map[types.NamespacedName]int{}
	r = New(func(set types.NamespacedName) { seen[set]++ })
	return r, func() map[types.NamespacedName]int {
		was := seen
		seen = map[types.NamespacedName]int{}
		return was
	}
}

func available(name string) status.Cluster {
	return status.Cluster{Name: name, Exists: true, Available: true}
}

func away(name string) status.Cluster {
	return status.Cluster{Name: name, Exists: true, Since: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Message: "no lease."}
}

// lines returns the rows of guestbook, each as "application on cluster: health sync conditions...".
func lines(r *Rows) []string {
	all := []string{}
	for _, row := range r.Rows(guestbook) {
		line := row.App + " on " + row.Cluster + ": " + row.HealthStatus + " " + row.SyncStatus
		for _, c := range row.Conditions {
			line += " " + c.Type
		}
		all = append(all, line)
	}
	return all
}

func expect(t *testing.T, why string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", why, diff)
	}
}

func TestRows_haveTheFormOfPulledOnes(t *testing.T) {
	r, _ := spied()
	r.SetCluster(available("cluster1"))
	r.Set(compact(t, application("a", "cluster1", healthy)))
	expect(t, "every field is that of the hub Application", r.Rows(guestbook)[0].ClusterCondition, v1alpha1.ClusterCondition{
		Cluster: "cluster1", HealthStatus: "Healthy", SyncStatus: "Synced", SyncRevision: "53e28ff2",
		OperationStatePhase: "Succeeded", OperationStateStartedAt: "2026-11-20T10:00:00Z", App: "argocd/a/cluster1/a",
	})
	r.Set(compact(t, application("a", "cluster1", refused)))
	expect(t, "what the plugin refuses is a condition, and what runs is as healthy as it was", lines(r),
		[]string{"argocd/a/cluster1/a on cluster1: Healthy Unknown ComparisonError"})
	row := r.Rows(guestbook)[0]
	expect(t, "an operation and a revision that are missing for a moment stay", row.OperationStatePhase+" "+row.SyncRevision, "Succeeded 53e28ff2")
}

// aggregation does not have the namespace of the hub's Argo CD. So it takes the ManifestWork's name from
// the resources in the Application's status.
func TestRows_nameTheWorkThatArgoCDLists(t *testing.T) {
	r, _ := spied()
	r.SetCluster(available("cluster1"))
	r.Set(compact(t, application("a", "cluster1", `{"resources":[{"kind":"ConfigMap","name":"b"},{"kind":"ManifestWork","name":"team.a-w1-0123abcd"},
		{"kind":"ManifestWork","name":"team.a-e5f6a7b8"}]}`)))
	expect(t, "the shortest name", r.Rows(guestbook)[0].App, "argocd/a/cluster1/team.a-e5f6a7b8")
}

func TestRows_areSorted(t *testing.T) {
	r, _ := spied()
	for _, name := range []string{"c", "a", "b"} {
		r.SetCluster(available("cluster-" + name))
		r.Set(compact(t, application(name, "cluster-"+name, healthy)))
	}
	r.Set(compact(t, application("0", "cluster-b", "")))
	expect(t, "by cluster, then by Application", lines(r), []string{
		"argocd/a/cluster-a/a on cluster-a: Healthy Synced",
		"argocd/0/cluster-b/0 on cluster-b: Unknown Unknown", "argocd/b/cluster-b/b on cluster-b: Healthy Synced",
		"argocd/c/cluster-c/c on cluster-c: Healthy Synced",
	})
	if rows := r.Rows(types.NamespacedName{Namespace: "argocd", Name: "other"}); len(rows) > 0 {
		t.Errorf("an ApplicationSet without Applications has rows %v", rows)
	}
}

// A row on an unreachable cluster is Unknown, whatever the Application's status reports. Propagation marks
// the ManifestWork later, or not at all.
func TestRows_unreachableClusterIsUnknown(t *testing.T) {
	r, told := spied()
	r.Set(compact(t, application("a", "cluster1", healthy)))
	expect(t, "without a ManagedCluster", lines(r), []string{"argocd/a/cluster1/a on cluster1: Unknown Synced ClusterUnreachable"})
	r.SetCluster(available("cluster1"))
	expect(t, "available", lines(r), []string{"argocd/a/cluster1/a on cluster1: Healthy Synced"})
	told()
	r.SetCluster(away("cluster1"))
	expect(t, "away", lines(r), []string{"argocd/a/cluster1/a on cluster1: Unknown Synced ClusterUnreachable"})
	expect(t, "the condition says since when", r.Rows(guestbook)[0].Conditions[0].Message, "cluster cluster1 is not available since 2026-11-20T10:00:00Z (no lease)")
	expect(t, "it is told once", told(), map[types.NamespacedName]int{guestbook: 1})

	marked := `{"health":{"status":"Unknown"},"sync":{"status":"Synced","revision":"53e28ff2"},"operationState":{"phase":"Succeeded","startedAt":"2026-11-20T10:00:00Z"}}`
	r.Set(compact(t, application("a", "cluster1", marked)))
	expect(t, "when Argo CD comes to see it, that is no news", told(), map[types.NamespacedName]int{})
}

func TestRows_reportOnlyDifferences(t *testing.T) {
	r, told := spied()
	r.SetCluster(available("cluster1"))
	r.SetCluster(available("cluster2"))
	steps := []struct {
		reason string
		do     func()
		told   int
		left   []string
	}{
		{"a new row", func() { r.Set(compact(t, application("a", "cluster1", healthy))) }, 1, []string{"argocd/a/cluster1/a on cluster1: Healthy Synced"}},
		{"the same again", func() { r.Set(compact(t, application("a", "cluster1", healthy))) }, 0, []string{"argocd/a/cluster1/a on cluster1: Healthy Synced"}},
		{"another cluster", func() { r.Set(compact(t, application("a", "cluster2", healthy))) }, 1, []string{"argocd/a/cluster2/a on cluster2: Healthy Synced"}},
		{"a cluster without Applications", func() { r.SetCluster(away("cluster1")) }, 0, []string{"argocd/a/cluster2/a on cluster2: Healthy Synced"}},
		{"it leaves its ApplicationSet", func() {
			r.Set(compact(t, application("a", "cluster2", healthy, func(a *argocd.Application) { a.OwnerReferences = nil })))
		}, 1, []string{}},
		{"and stays outside", func() { r.Delete(types.NamespacedName{Namespace: "argocd", Name: "a"}) }, 0, []string{}},
		{"it is made again", func() { r.Set(compact(t, application("a", "cluster2", healthy))) }, 1, []string{"argocd/a/cluster2/a on cluster2: Healthy Synced"}},
		{"and is gone", func() { r.Delete(types.NamespacedName{Namespace: "argocd", Name: "a"}) }, 1, []string{}},
	}
	for _, s := range steps {
		s.do()
		expect(t, s.reason+": the ApplicationSet is told of", told()[guestbook], s.told)
		expect(t, s.reason, lines(r), s.left)
	}
	r.SetCluster(status.Cluster{Name: "cluster1"})
	r.SetCluster(status.Cluster{Name: "cluster2"})
	if len(r.applications)+len(r.sets)+len(r.clusters) > 0 {
		t.Errorf("kept of nothing: %v %v %v", r.applications, r.sets, r.clusters)
	}
}

// A re-created Application gets a new row, without the operation of the deleted one.
func TestRows_recreatedApplicationStartsAgain(t *testing.T) {
	r, _ := spied()
	r.SetCluster(available("cluster1"))
	r.Set(compact(t, application("a", "cluster1", healthy)))
	r.Set(compact(t, application("a", "cluster1", `{"health":{"status":"Missing"},"sync":{"status":"OutOfSync"}}`, func(a *argocd.Application) { a.UID = "other" })))
	rows := r.Rows(guestbook)
	if len(rows) != 1 || rows[0].OperationStatePhase != "" || rows[0].HealthStatus != "Missing" {
		t.Errorf("rows %+v", rows)
	}
}
