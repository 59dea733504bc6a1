// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

const application = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: guestbook-cluster1
  namespace: argocd
  uid: u1
  creationTimestamp: "2026-01-02T03:04:05Z"
  labels: {apps.open-cluster-management.io/application-set: "true"}
  annotations: {apps.open-cluster-management.io/hosting-applicationset: argocd/guestbook}
spec:
  source: {path: guestbook, repoURL: https://git.example.com/apps.git, targetRevision: main}
  destination: {namespace: guestbook, server: https://kubernetes.default.svc}
status:
  health: {status: Degraded}
  sync: {status: OutOfSync}
  operationState: {phase: Failed, message: it failed}
  conditions:
  - {type: SyncError, message: refused}
`

// want is the row of application.
func want() map[string]any {
	return map[string]any{
		"_conditionOperationError": "it failed", "_conditionSyncError": "refused",
		"_hostingResource": "ApplicationSet/argocd/guestbook", "apigroup": "argoproj.io", "apiversion": "v1alpha1",
		"applicationSet": "", "chart": "", "created": "2026-01-02T03:04:05Z", "destinationName": "",
		"destinationNamespace": "guestbook", "destinationServer": "https://kubernetes.default.svc",
		"healthStatus": "Degraded", "kind": "Application", "kind_plural": "applications",
		"label": map[string]any{"apps.open-cluster-management.io/application-set": "true"},
		"name":  "guestbook-cluster1", "namespace": "argocd", "path": "guestbook",
		"repoURL": "https://git.example.com/apps.git", "syncStatus": "OutOfSync", "targetRevision": "main",
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestObjectRow_showsEachStateOfAnApplication checks the rows of Applications in several states.
func TestObjectRow_showsEachStateOfAnApplication(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		change func(*unstructured.Unstructured)
		want   func(map[string]any)
	}{
		"failed": {"an operation's message shows while it matters",
			func(*unstructured.Unstructured) {}, func(map[string]any) {}},
		"settled": {"Healthy and Synced hide it",
			func(o *unstructured.Unstructured) {
				set(t, o, "Healthy", "status", "health", "status")
				set(t, o, "Synced", "status", "sync", "status")
			},
			func(w map[string]any) {
				w["healthStatus"], w["syncStatus"] = "Healthy", "Synced"
				delete(w, "_conditionOperationError")
			}},
		"succeeded": {"what succeeded is no error",
			func(o *unstructured.Unstructured) { set(t, o, "Succeeded", "status", "operationState", "phase") },
			func(w map[string]any) { delete(w, "_conditionOperationError") }},
		"long": {"a message is cut by runes, not bytes",
			func(o *unstructured.Unstructured) {
				set(t, o, strings.Repeat("ü", 600), "status", "operationState", "message")
			},
			func(w map[string]any) { w["_conditionOperationError"] = strings.Repeat("ü", 512) + "..." }},
		"stand-alone": {"nothing hosts it and it has no label",
			func(o *unstructured.Unstructured) { o.SetAnnotations(nil); o.SetLabels(nil) },
			func(w map[string]any) { delete(w, "_hostingResource"); delete(w, "label") }},
		"fresh": {"empty properties are there",
			func(o *unstructured.Unstructured) { delete(o.Object, "status") },
			func(w map[string]any) {
				w["healthStatus"], w["syncStatus"] = "", ""
				delete(w, "_conditionOperationError")
				delete(w, "_conditionSyncError")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			object, data := parse(t, application), want()
			test.change(object)
			test.want(data)
			got := objectRow("cluster1", "applications", object)
			if diff := cmp.Diff(table.Row{UID: "cluster1/u1", Cluster: "cluster1", Data: data}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func set(t *testing.T, object *unstructured.Unstructured, value string, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// TestAddMissing_usesTheKeysOfArgoCD checks that the list of missing resources has Argo CD's keys.
func TestAddMissing_usesTheKeysOfArgoCD(t *testing.T) {
	object := parse(t, application)
	object.Object["status"].(map[string]any)["resources"] = []any{
		map[string]any{"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "inventory", "name": "inventory",
			"status": "OutOfSync", "health": map[string]any{"status": "Missing"}},
		map[string]any{"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole", "name": "inventory-reader"},
	}
	row := table.Row{Data: map[string]any{}}
	addMissing(row, resources(object))
	recorded := `[{"group":"apps","version":"v1","kind":"Deployment","namespace":"inventory","name":"inventory","health":{"status":"Missing"}},` +
		`{"group":"rbac.authorization.k8s.io","version":"v1","kind":"ClusterRole","name":"inventory-reader"}]`
	if got := row.Data["_missingResources"]; got != recorded {
		t.Errorf("%s, recorded %s", got, recorded)
	}
}

// The row of a Pod has the names of its kind, and the UID of its owner.
func TestObjectRow_namesTheOwnerOfAPod(t *testing.T) {
	pod := parse(t, "{kind: Pod, apiVersion: v1, metadata: {name: it, namespace: ns, uid: u, creationTimestamp: \"2026-01-02T03:04:05Z\", "+
		"ownerReferences: [{kind: ReplicaSet, uid: r, controller: true}]}}")
	want := map[string]any{
		"apiversion": "v1", "kind": "Pod", "kind_plural": "pods", "name": "it", "namespace": "ns", "created": "2026-01-02T03:04:05Z", "_ownerUID": "cluster1/r",
	}
	if diff := cmp.Diff(table.Row{UID: "cluster1/u", Cluster: "cluster1", Data: want}, objectRow("cluster1", "pods", pod)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
