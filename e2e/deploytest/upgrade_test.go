// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/upgrade/before"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// installer installs the deploy folder of a checkout over an existing installation.
type installer struct {
	name      string
	namespace string // of Argo CD
	install   func(t *testing.T, root string)
	back      func(t *testing.T, root string)
	uninstall func(t *testing.T, root string)
	leaves    bool // whether objects of the other version remain
}

func byKustomize(overlay, namespace string) installer {
	folder := func(root string) string { return filepath.Join(root, "deploy", "overlays", overlay) }
	install := func(t *testing.T, root string) {
		t.Helper()
		kubectl(t, "apply", "--server-side", "--validate=strict", "-k", folder(root))
	}
	return installer{name: "kustomize " + overlay, namespace: namespace, leaves: true, install: install, back: install, uninstall: func(t *testing.T, root string) {
		t.Helper()
		kubectl(t, "delete", "--ignore-not-found", "--wait", "--timeout=2m", "-k", folder(root))
	}}
}

// byHelm returns an installer of a user who set a value at the installation.
func byHelm() installer {
	helm := func(t *testing.T, args ...string) {
		t.Helper()
		run(t, tool("helm"), append(args, "--kubeconfig", kubeconfig, "--namespace", namespace)...)
	}
	chart := func(root string) string { return filepath.Join(root, "deploy", "chart") }
	revision := 0
	return installer{
		name: "helm", namespace: "argocd",
		install: func(t *testing.T, root string) {
			t.Helper()
			if revision++; revision == 1 {
				helm(t, "install", namespace, chart(root), "--create-namespace", "--set", "replicas=2")
				return
			}
			helm(t, "upgrade", namespace, chart(root), "--reset-then-reuse-values")
		},
		back: func(t *testing.T, _ string) {
			t.Helper()
			helm(t, "rollback", namespace, "1")
		},
		uninstall: func(t *testing.T, _ string) {
			t.Helper()
			revision = 0
			helm(t, "uninstall", namespace, "--wait", "--timeout", "2m")
			kubectl(t, "delete", "namespace", namespace, "--wait", "--timeout=2m")
		},
	}
}

// The test upgrades from the previous release to this checkout and goes back, with stored reports. After each
// step the objects equal the objects of a new installation. No report is lost, and each can still be written.
func TestUpgrade_keepsTheReportsInBothDirections(t *testing.T) {
	release, err := before.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if release.Missing != "" {
		t.Logf("this checkout stands in for the release before: %s", release.Missing)
	}
	needNamespace(t, "open-cluster-management")
	for _, by := range []installer{byKustomize("rhacm", "openshift-gitops"), byHelm()} {
		t.Run(by.name, func(t *testing.T) { upgradeAndBack(t, by, release.Root, testkit.Root()) })
	}
}

func upgradeAndBack(t *testing.T, by installer, old, current string) {
	needNamespace(t, by.namespace)
	kubectl(t, "delete", "--ignore-not-found", "--wait", "crd", reportCRD)
	if by.leaves { // overlay rhacm leaves the CRD to RHACM's operator, which this plays
		apply(t, deployPath("base", "crd"))
		kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "crd", reportCRD)
		defer kubectl(t, "delete", "--wait", "crd", reportCRD)
	}

	by.install(t, current)
	fresh := contents(t)
	by.uninstall(t, current)

	by.install(t, old)
	first := contents(t)
	reports := map[string]string{}
	store(t, by.namespace, "old", reports)

	by.install(t, current)
	by.same(t, "after the upgrade", fresh, first)
	keep(t, by.namespace, reports)
	store(t, by.namespace, "new", reports)

	by.back(t, old)
	by.same(t, "after going back", first, fresh)
	keep(t, by.namespace, reports)

	by.install(t, current)
	keep(t, by.namespace, reports)
	if by.leaves { // kubectl apply does not delete objects that are no longer shipped, see CHANGELOG.md
		kubectl(t, "delete", "networkpolicy", "--ignore-not-found", "-n", "open-cluster-management", "multicluster-integrations-search")
	}
	by.uninstall(t, current)
	if left := installed(t); len(left) > 0 {
		t.Errorf("left after uninstalling: %v", left)
	}
}

const reportCRD = "multiclusterapplicationsetreports.apps.open-cluster-management.io"

// contents returns the installed objects without the fields that the API server and its controllers add.
func contents(t *testing.T) map[string]map[string]any {
	t.Helper()
	kinds, _ := kubectl(t, "api-resources", "--verbs=list", "--output=name")
	out, _ := kubectl(t, "get", strings.Join(strings.Fields(kinds), ","), "--all-namespaces", "--selector", ours, "--output=json", "--ignore-not-found")
	var list unstructured.UnstructuredList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for i := range list.Items {
		o := list.Items[i].Object
		all[identity(&list.Items[i])] = o
		delete(o, "status")
		delete(o, "data") // the token of a Secret
		kept := map[string]any{}
		for _, field := range []string{"name", "namespace", "labels"} {
			kept[field] = list.Items[i].UnstructuredContent()["metadata"].(map[string]any)[field]
		}
		o["metadata"] = kept
		for _, assigned := range [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"secrets"}} {
			unstructured.RemoveNestedField(o, assigned...)
		}
	}
	if len(all) < 15 {
		t.Fatalf("only %d objects are ours", len(all))
	}
	return all
}

// same compares the installed objects with the objects of a new installation. kubectl deletes nothing, so
// with it objects of only the other version may remain.
func (by installer) same(t *testing.T, when string, want, other map[string]map[string]any) {
	t.Helper()
	got := contents(t)
	for id, o := range want {
		if diff := cmp.Diff(o, got[id]); diff != "" {
			t.Errorf("%s %s is not as a new installation makes it:\n%s", when, id, diff)
		}
	}
	for id := range got {
		if want[id] == nil && (!by.leaves || other[id] == nil) {
			t.Errorf("%s %s is left over", when, id)
		}
	}
}

// store creates a report with all possible fields, and stores its content.
func store(t *testing.T, ns, name string, reports map[string]string) {
	t.Helper()
	applyText(t, `{apiVersion: apps.open-cluster-management.io/v1alpha1, kind: MulticlusterApplicationSetReport, metadata: {name: `+name+`, namespace: `+ns+`}, statuses: {
  resources: [{apiVersion: v1, kind: ConfigMap, name: config, namespace: guestbook}],
  clusterConditions: [{cluster: cluster1, app: argocd/a/cluster1/w, healthStatus: Healthy, syncStatus: Synced, syncRevision: abc, operationStatePhase: Failed,
    operationStateStartedAt: "2026-01-01T00:00:00Z", staleSince: "2026-01-01T00:00:00Z", conditions: [{type: SyncError, message: no}]}],
  summary: {clusters: "1", synced: "1", notSynced: "0", healthy: "1", notHealthy: "0", inProgress: "0"}}}`)
	reports[name] = statusesOf(t, ns, name)
}

// keep fails the test if a report has changed or cannot be written.
func keep(t *testing.T, ns string, reports map[string]string) {
	t.Helper()
	for name, want := range reports {
		kubectl(t, "-n", ns, "annotate", "--overwrite", reportCRD, name, "written=again")
		if got := statusesOf(t, ns, name); got != want {
			t.Errorf("report %s was %s, and is %s", name, want, got)
		}
	}
}

func statusesOf(t *testing.T, ns, name string) string {
	t.Helper()
	out, _ := kubectl(t, "-n", ns, "get", reportCRD, name, "-o", "jsonpath={.statuses}")
	if out == "" {
		t.Fatalf("report %s has no content", name)
	}
	return out
}
