// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

var guestbook = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}

// manifestWork returns the ManifestWork of an Application of set. With nil feedback its status is empty.
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

// shows returns the feedback of an Application.
func shows(health, sync string) map[string]string {
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

// spied returns an index. published returns the ApplicationSets that the index reported since the last
// call.
func spied() (x *Index, published func() map[types.NamespacedName]int) {
	seen := map[types.NamespacedName]int{}
	x = New(func(key types.NamespacedName) { seen[key]++ })
	return x, func() map[types.NamespacedName]int {
		was := seen
		seen = map[types.NamespacedName]int{}
		return was
	}
}

// rows returns the rows of an ApplicationSet, each as "cluster: health sync conditions...".
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
