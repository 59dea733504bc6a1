// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ours selects all objects of an installation.
const ours = "app.kubernetes.io/part-of=multicluster-integrations"

func kubectl(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	return run(t, tool("kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
}

// apply applies a file as in docs/install.md. It fails on any warning of the API server: an unknown field, a
// deprecated version, or a pod that violates the namespace's Pod Security.
func apply(t *testing.T, file string) {
	t.Helper()
	if _, stderr := kubectl(t, "apply", "--server-side", "--validate=strict", "-f", file); strings.Contains(stderr, "Warning") {
		t.Errorf("apply %s: %s", filepath.Base(file), stderr)
	}
}

// needNamespace creates a namespace that exists before the installation, such as Argo CD's.
func needNamespace(t *testing.T, name string) {
	t.Helper()
	if _, _, err := try(t, tool("kubectl"), "--kubeconfig", kubeconfig, "get", "namespace", name); err != nil {
		kubectl(t, "create", "namespace", name)
	}
}

// installed returns the identity and resource version of each installed object.
func installed(t *testing.T) map[string]string {
	t.Helper()
	kinds, _ := kubectl(t, "api-resources", "--verbs=list", "--output=name")
	out, _ := kubectl(t, "get", strings.Join(strings.Fields(kinds), ","), "--all-namespaces", "--selector", ours, "--output=json", "--ignore-not-found")
	versions := map[string]string{}
	if out == "" {
		return versions
	}
	var list unstructured.UnstructuredList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		versions[identity(&list.Items[i])] = list.Items[i].GetResourceVersion()
	}
	return versions
}

// render writes an overlay, changed by edit, to a file.
func render(t *testing.T, overlay string, edit func(string) string) string {
	t.Helper()
	out, _ := run(t, tool("kustomize"), "build", deployPath("overlays", overlay))
	file := filepath.Join(t.TempDir(), overlay+".yaml")
	if err := os.WriteFile(file, []byte(edit(out)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func unchanged(s string) string { return s }

// An operator installs, installs again, upgrades, adds a replica and uninstalls. Each step changes only the
// expected objects, and the last one leaves none.
func TestInstall_changesOnlyWhatEachStepNeeds(t *testing.T) {
	needNamespace(t, "argocd")
	install := deployPath("install.yaml")

	apply(t, install)
	for _, name := range binaries { // waits until Kubernetes has filled the Secrets
		mountToken(t, credentialOf(t, kustomize(t, "ocm"), name), filepath.Join(t.TempDir(), "token"))
	}
	before := installed(t)
	for id := range byIdentity(t, kustomize(t, "ocm")) {
		if before[id] == "" {
			t.Errorf("%s was not installed", id)
		}
	}

	apply(t, install)
	settled := installed(t)
	if diff := cmp.Diff(before, settled, cmp.FilterPath(defaulted, cmp.Ignore())); diff != "" {
		t.Errorf("installing again changed objects:\n%s", diff)
	}

	apply(t, render(t, "ocm", func(s string) string {
		return strings.ReplaceAll(s, "multicluster-integrations/propagation:0.1.0", "multicluster-integrations/propagation:0.2.0")
	}))
	if got := changed(settled, installed(t)); len(got) != 1 || !strings.HasPrefix(got[0], "apps/v1 Deployment") {
		t.Errorf("upgrading one container changed %q, want only the Deployment", got)
	}
	images, _ := kubectl(t, "-n", namespace, "get", "deployment", namespace, "-o", "jsonpath={.spec.template.spec.containers[*].image}")
	if want := "registry.invalid/multicluster-integrations/propagation:0.2.0 registry.invalid/multicluster-integrations/resourcesync:0.1.0 registry.invalid/multicluster-integrations/aggregation:0.1.0"; images != want {
		t.Errorf("images after upgrading propagation: %s", images)
	}

	apply(t, render(t, "ha", unchanged))
	if replicas, _ := kubectl(t, "-n", namespace, "get", "deployment", namespace, "-o", "jsonpath={.spec.replicas}"); replicas != "2" {
		t.Errorf("replicas after moving to high availability: %s", replicas)
	}

	kubectl(t, "delete", "--ignore-not-found", "--wait", "--timeout=2m", "-f", install) // Kubernetes deletes a token Secret with its ServiceAccount
	if left := installed(t); len(left) > 0 {
		t.Errorf("left after uninstalling: %v", left)
	}
	// No object remains that lost its label, neither in Argo CD's namespace nor cluster-wide.
	all, _ := kubectl(t, "get", "roles,rolebindings,clusterroles,clusterrolebindings,customresourcedefinitions", "--all-namespaces", "-o", "name")
	for name := range strings.Lines(all) {
		if strings.Contains(name, "multicluster-integrations") || strings.Contains(name, "multiclusterapplicationsetreports") {
			t.Errorf("left after uninstalling: %s", name)
		}
	}
}

// RHACM's operator owns the CRD of reports. With it, the rhacm overlay is installed, upgraded and
// removed without a conflict, and does not change the CRD.
func TestInstall_keepsTheCRDOfRHACM(t *testing.T) {
	for _, name := range []string{"argocd", "openshift-gitops", "open-cluster-management"} {
		needNamespace(t, name)
	}
	crd := parse(t, readFile(t, deployPath("base", "crd", "apps.open-cluster-management.io_multiclusterapplicationsetreports.yaml")))[0]
	crd.SetAnnotations(map[string]string{"installer.multicluster.openshift.io/release-version": "2.15.0"})
	versions := field(t, crd.Object, "spec", "versions").([]any)
	versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["description"] = "RHACM's own"
	file := writeJSON(t, crd)
	kubectl(t, "apply", "--server-side", "--field-manager=multiclusterhub-operator", "--force-conflicts", "-f", file)
	defer kubectl(t, "delete", "--wait", "--timeout=2m", "-f", file)
	content := func() string {
		out, _ := kubectl(t, "get", "crd", crd.GetName(), "-o", "jsonpath={.metadata.generation} {.metadata.labels} {.metadata.annotations} {.metadata.managedFields[*].manager}")
		return out
	}
	kubectl(t, "wait", "--for=condition=Established", "crd/"+crd.GetName())
	before := content()
	overlay := render(t, "rhacm", unchanged)
	apply(t, overlay)
	apply(t, render(t, "rhacm-ha", unchanged))
	kubectl(t, "delete", "--ignore-not-found", "--wait", "--timeout=2m", "-f", overlay)
	if after := content(); after != before || !strings.Contains(after, "multiclusterhub-operator") {
		t.Errorf("the CRD is now %q, was %q", after, before)
	}
}

// defaulted matches the CRD, the only object that the API server changes later.
func defaulted(p cmp.Path) bool {
	index, ok := p.Last().(cmp.MapIndex)
	return ok && strings.Contains(index.Key().String(), "CustomResourceDefinition") // the API server sets its conditions
}

func changed(before, after map[string]string) []string {
	var ids []string
	for id, version := range after {
		if before[id] != version && !strings.Contains(id, "CustomResourceDefinition") {
			ids = append(ids, id)
		}
	}
	return ids
}
