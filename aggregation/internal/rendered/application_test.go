// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

var guestbook = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}

const (
	healthy = `{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"53e28ff2"},
		"operationState":{"phase":"Succeeded","startedAt":"2026-11-20T10:00:00Z","message":"successfully synced"}}`
	refused = `{"health":{"status":"Healthy"},"sync":{"status":"Unknown"},
		"conditions":[{"type":"ComparisonError","message":"the plugin refuses it"},{"type":"ComparisonError","message":"again"},{"type":"Invented","message":"x"}]}`
)

// application returns an Application of guestbook on a cluster.
func application(name, cluster, status string, edits ...func(*argocd.Application)) *argocd.Application {
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7",
			Labels:          map[string]string{contract.RenderedLabel: "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "guestbook"}},
		},
		Spec:   json.RawMessage(`{"destination":{"server":"https://kubernetes.default.svc","namespace":"` + cluster + `"}}`),
		Status: json.RawMessage(status),
	}
	for _, edit := range edits {
		edit(a)
	}
	return a
}

func compact(t *testing.T, a *argocd.Application) *Application {
	t.Helper()
	object, err := Compact(a)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*Application)
}

func TestCompact(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	cases := map[string]struct {
		reason   string
		in       *argocd.Application
		set      types.NamespacedName
		cluster  string
		feedback contract.Feedback
	}{
		"well": {
			"what the hub's Argo CD says is taken over", application("a", "cluster1", healthy), guestbook, "cluster1",
			contract.Feedback{Health: "Healthy", Sync: "Synced", Revision: "53e28ff2", Operation: contract.OperationFeedback{Phase: "Succeeded", StartedAt: "2026-11-20T10:00:00Z", Message: "successfully synced"}},
		},
		"refused": {
			"the first message of each error that Argo CD has", application("a", "cluster1", refused), guestbook, "cluster1",
			contract.Feedback{Health: "Healthy", Sync: "Unknown", Conditions: []contract.Condition{{Type: "ComparisonError", Message: "the plugin refuses it"}}},
		},
		"new":       {"nothing is said yet", application("a", "cluster1", ""), guestbook, "cluster1", contract.Feedback{}},
		"malformed": {"a status of another shape says nothing", application("a", "cluster1", `{"health":"good"}`), guestbook, "cluster1", contract.Feedback{}},
		"hostile": {
			"a code, a time and a revision that are none are left out, a message is cut",
			application("a", "cluster1", `{"health":{"status":"Splendid"},"sync":{"status":"Synced","revision":"`+long+`"},"operationState":{"phase":"Failed","startedAt":"yesterday","message":"`+long+`"}}`),
			guestbook, "cluster1",
			contract.Feedback{Sync: "Synced", Operation: contract.OperationFeedback{Phase: "Failed", Message: strings.Repeat("x", contract.MaxMessage-3) + "…"}},
		},
		"alone":       {"without an ApplicationSet there is no report to have a row in", application("a", "cluster1", "", func(a *argocd.Application) { a.OwnerReferences = nil }), types.NamespacedName{}, "cluster1", contract.Feedback{}},
		"pulled":      {"with both labels it is propagation's, which has a row for it", application("a", "cluster1", "", func(a *argocd.Application) { a.Labels[contract.PullLabel] = "1" }), types.NamespacedName{}, "cluster1", contract.Feedback{}},
		"not pulled":  {"a label that says no is none", application("a", "cluster1", "", func(a *argocd.Application) { a.Labels[contract.PullLabel] = "false" }), guestbook, "cluster1", contract.Feedback{}},
		"no cluster":  {"the plugin refuses it, and there is no cluster to show it under", application("a", "", ""), types.NamespacedName{}, "", contract.Feedback{}},
		"no name":     {"what cannot be a cluster's name is none", application("a", long, ""), types.NamespacedName{}, "", contract.Feedback{}},
		"other owner": {"only an ApplicationSet has a report", application("a", "cluster1", "", func(a *argocd.Application) { a.OwnerReferences[0].Kind = "Application" }), types.NamespacedName{}, "cluster1", contract.Feedback{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := compact(t, c.in)
			if got.Set != c.set || got.Cluster != c.cluster {
				t.Errorf("%s: a row of %s for %.20q, want %s for %s", c.reason, got.Set, got.Cluster, c.set, c.cluster)
			}
			if diff := cmp.Diff(c.feedback, got.feedback); diff != "" {
				t.Errorf("%s (-want +got):\n%.500s", c.reason, diff)
			}
			if m := got.GetObjectMeta(); m.GetName() != "a" || m.GetNamespace() != "argocd" || m.GetUID() != "uid-a" || m.GetResourceVersion() != "7" {
				t.Errorf("an informer is told %+v", m)
			}
		})
	}
}
