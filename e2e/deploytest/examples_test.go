// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The real CRDs accept the examples with strict validation, so no example has an unknown field.
func TestExamples_passStrictValidation(t *testing.T) {
	needNamespace(t, "argocd")
	for _, path := range []string{"hub", "managed", "namespaced-argocd", "guestbook-app-set.yaml"} {
		apply(t, deployPath("examples", path))
	}
	for _, path := range []string{"guestbook-app-set.yaml", "namespaced-argocd", "managed", "hub"} {
		kubectl(t, "delete", "--wait", "--timeout=2m", "-f", deployPath("examples", path))
	}
}

// Argo CD's settings belong to its owner. Neither applying nor deleting an example removes a setting.
func TestExamples_keepTheSettingsOfArgoCD(t *testing.T) {
	needNamespace(t, "argocd")
	settings := filepath.Join(t.TempDir(), "argocd-cm.yaml")
	const text = `{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: argocd}, data: {url: https://argocd.example.com}}`
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-f", settings)
	t.Cleanup(func() { kubectl(t, "delete", "-f", settings) })
	kept := func(when string) {
		t.Helper()
		if url, _ := kubectl(t, "-n", "argocd", "get", "configmap", "argocd-cm", "--ignore-not-found", "-o", "jsonpath={.data.url}"); url != "https://argocd.example.com" {
			t.Errorf("%s the setting is %q", when, url)
		}
	}
	folders := []string{"hub", "managed", "namespaced-argocd"}
	for _, folder := range folders {
		kubectl(t, "apply", "-f", deployPath("examples", folder))
		kept("with " + folder)
	}
	for _, folder := range slices.Backward(folders) {
		kubectl(t, "delete", "--wait", "--timeout=2m", "-f", deployPath("examples", folder))
		kept("without " + folder)
	}
}

// The examples for OpenShift GitOps have the same objects as the others, except for the namespace and the
// label.
func TestExamples_haveTheSameObjectsForOpenShift(t *testing.T) {
	needNamespace(t, "openshift-gitops")
	file := deployPath("examples", "openshift", "guestbook.yaml")
	apply(t, file)
	kubectl(t, "delete", "--wait", "--timeout=2m", "-f", file)
	objects := byIdentity(t, parse(t, readFile(t, file)))
	for _, name := range []string{"hub/placement-generator.yaml", "hub/placement.yaml", "hub/project.yaml", "guestbook-app-set.yaml"} {
		text := strings.NewReplacer("namespace: argocd", "namespace: openshift-gitops", "name: argocd-", "name: openshift-gitops-").Replace(readFile(t, deployPath("examples", name)))
		for _, want := range parse(t, text) {
			object := objects[identity(want)]
			if want.GetKind() == argocd.ApplicationSetKind {
				policy := field(t, object, "spec", "template", "spec", "syncPolicy").(map[string]any)
				if label := field(t, policy, "managedNamespaceMetadata", "labels").(map[string]any)["argocd.argoproj.io/managed-by"]; label != "openshift-gitops" {
					t.Errorf("namespaces are managed by %v", label)
				}
				delete(policy, "managedNamespaceMetadata")
				delete(policy, "syncOptions")
			}
			if diff := cmp.Diff(want.Object, object); diff != "" {
				t.Errorf("%s differs (-%s +openshift):\n%s", identity(want), name, diff)
			}
			delete(objects, identity(want))
		}
	}
	if len(objects) > 0 {
		t.Errorf("%d objects more than in the examples", len(objects))
	}
}

// The real CRDs also accept the examples of GitOpsClusters, in both versions.
func TestExamples_passStrictValidationWithGitOpsClusters(t *testing.T) {
	needNamespace(t, "argocd")
	const crd = "apps.open-cluster-management.io_gitopsclusters.yaml"
	apply(t, deployPath("components", "gitopsclusters", crd))
	kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "-f", deployPath("components", "gitopsclusters", crd))
	for _, name := range []string{"v1beta1.yaml", "v1alpha1.yaml"} {
		apply(t, deployPath("examples", "gitopscluster", name))
		kubectl(t, "delete", "--wait", "--timeout=2m", "-f", deployPath("examples", "gitopscluster", name))
	}
	agents := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(agents, renderAgents(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{agents, deployPath("examples", "agent", "guestbook.yaml")} {
		apply(t, file)
		kubectl(t, "delete", "--wait", "--timeout=2m", "-f", file)
	}
	kubectl(t, "delete", "--wait", "--timeout=2m", "-f", deployPath("components", "gitopsclusters", crd))
}

// renderAgents renders the example of agents with the principal's manifests from the test data.
func renderAgents(t *testing.T) []byte {
	t.Helper()
	installation := readFile(t, filepath.Join(testkit.Root(), "optional", "gitopscluster", "internal", "principal", "testdata", "kustomize.yaml"))
	out, err := scenario.RenderAgents(t.Context(), fstest.MapFS{
		"principal.yaml": {Data: []byte(installation)}, "kustomization.yaml": {Data: []byte("resources: [principal.yaml]")},
	}, "resources: [agent]")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The ApplicationSet has the label and annotation that propagation reads.
func TestExamples_useTheContract(t *testing.T) {
	text := readFile(t, deployPath("examples", "guestbook-app-set.yaml"))
	for _, key := range []string{contract.PullLabel + `: "true"`, contract.ClusterAnnotation + `: '{{.name}}'`} {
		if !strings.Contains(text, key) {
			t.Errorf("the ApplicationSet has no %s", key)
		}
	}
}
