// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// The bundle with its prerequisites gives each container the same permissions and token as the overlay. This
// test acts as OLM.
func TestOLMBundle_grantsTheRightsOfTheOverlay(t *testing.T) {
	namespaces := []string{namespace, "openshift-gitops", "open-cluster-management", "elsewhere"}
	for _, name := range namespaces[1:] {
		needNamespace(t, name)
	}
	overlay := render(t, "rhacm", unchanged)
	defer kubectl(t, "delete", "--ignore-not-found", "--wait", "--timeout=2m", "-f", overlay) // this also deletes the bundle's objects, which have the same names
	apply(t, overlay)
	want := mayDo(t, namespaces)
	kubectl(t, "delete", "--ignore-not-found", "--wait", "--timeout=2m", "-f", overlay)
	if left := mayDo(t, namespaces); len(left) >= len(want)/2 {
		t.Fatalf("without an installation the accounts hold %d rights of %d: the test proves nothing", len(left), len(want))
	}

	dir := t.TempDir()
	run(t, "env", "GOWORK=off", "go", "run", "-C", deployPath("release"), ".", "olm", "-out", dir, "-kustomize", tool("kustomize"))
	apply(t, filepath.Join(dir, "olm-prerequisites.yaml"))
	o := olm{t, filepath.Join(dir, "olm-bundle", "manifests")}
	o.install()
	if diff := cmp.Diff(want, mayDo(t, namespaces)); diff != "" {
		t.Errorf("rights as the overlay (-) and as the bundle (+) grants them:\n%s", diff)
	}
	tokens := o.tokens()
	o.install() // an upgrade
	if again := o.tokens(); !slices.Equal(tokens, again) {
		t.Error("OLM's second installation changed the tokens")
	}
	ready, _ := kubectl(t, "-n", namespace, "get", "deployment,service,poddisruptionbudget,networkpolicy", "-o", "name")
	if n := strings.Count(ready, "/multicluster-integrations"); n != 4 {
		t.Errorf("the namespace holds\n%s", ready)
	}
}

// mayDo returns the permissions of each container's account in each namespace.
func mayDo(t *testing.T, namespaces []string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, binary := range binaries {
		for _, where := range namespaces {
			review := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": map[string]any{"namespace": where},
			}}
			text, _ := kubectl(t, "create", "--validate=false", "-o", "json", "-f", writeJSON(t, review),
				"--as=system:serviceaccount:"+namespace+":"+env.Account(binary), "--as-group=system:serviceaccounts", "--as-group=system:authenticated")
			var answer authorizationv1.SelfSubjectRulesReview
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err)
			}
			for _, rule := range answer.Status.ResourceRules {
				for _, verb := range rule.Verbs {
					for _, resource := range rule.Resources {
						out[fmt.Sprintf("%s in %s: %s %s of %q %q", binary, where, verb, resource, rule.APIGroups, rule.ResourceNames)] = true
					}
				}
			}
		}
	}
	return out
}

// olm acts as the Operator Lifecycle Manager for the manifests of a bundle.
type olm struct {
	t         *testing.T
	manifests string
}

func (o olm) install() {
	o.t.Helper()
	files, err := filepath.Glob(filepath.Join(o.manifests, "*.yaml"))
	if err != nil || len(files) == 0 {
		o.t.Fatalf("manifests of the bundle: %q, %v", files, err)
	}
	for _, file := range files {
		object := parse(o.t, readFile(o.t, file))[0]
		if object.GetKind() == "ClusterServiceVersion" {
			defer o.installStrategy(object)
			continue
		}
		if object.GetKind() != "CustomResourceDefinition" {
			object.SetNamespace(namespace)
		}
		apply(o.t, writeJSON(o.t, object))
	}
}

// installStrategy creates the accounts, their permissions and the Deployment.
func (o olm) installStrategy(csv *unstructured.Unstructured) {
	o.t.Helper()
	accounts := map[string]bool{}
	for kind, list := range map[string]string{"Role": "permissions", "ClusterRole": "clusterPermissions"} {
		permissions, _, err := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", list)
		if err != nil || len(permissions) == 0 {
			o.t.Fatalf("%s of the ClusterServiceVersion: %v, %v", list, permissions, err)
		}
		for i, each := range permissions {
			granted := each.(map[string]any)
			account := granted["serviceAccountName"].(string)
			accounts[account] = true
			name := fmt.Sprintf("%s-%d", csv.GetName(), i)
			o.make("rbac.authorization.k8s.io/v1", kind, name, map[string]any{"rules": granted["rules"]})
			o.make("rbac.authorization.k8s.io/v1", kind+"Binding", name, map[string]any{
				"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
				"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": namespace}},
			})
		}
	}
	for account := range maps.Keys(accounts) {
		o.make("v1", "ServiceAccount", account, nil)
	}
	deployments, _, err := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", "deployments")
	if err != nil || len(deployments) != 1 {
		o.t.Fatalf("deployments of the ClusterServiceVersion: %v, %v", deployments, err)
	}
	deployment := deployments[0].(map[string]any)
	o.make("apps/v1", "Deployment", deployment["name"].(string), map[string]any{"spec": deployment["spec"]})
}

// make creates an object or replaces an existing one, as OLM does.
func (o olm) make(apiVersion, kind, name string, fields map[string]any) {
	o.t.Helper()
	object := &unstructured.Unstructured{Object: maps.Clone(fields)}
	if object.Object == nil {
		object.Object = map[string]any{}
	}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetName(name)
	object.SetLabels(map[string]string{"app.kubernetes.io/part-of": "multicluster-integrations", "olm.managed": "true"})
	if !strings.HasPrefix(kind, "Cluster") {
		object.SetNamespace(namespace)
	}
	file := writeJSON(o.t, object)
	if strings.HasPrefix(kind, "Cluster") {
		o.t.Cleanup(func() {
			_, _, _ = try(o.t, tool("kubectl"), "--kubeconfig", kubeconfig, "delete", "--ignore-not-found", "-f", file)
		})
	}
	if _, _, err := try(o.t, tool("kubectl"), "--kubeconfig", kubeconfig, "create", "--validate=strict", "-f", file); err != nil {
		kubectl(o.t, "replace", "--validate=strict", "-f", file)
	}
}

// tokens returns the tokens of the containers that have one from a Secret.
func (o olm) tokens() []string {
	o.t.Helper()
	var out []string
	for _, binary := range binaries {
		c := credentialOf(o.t, kustomize(o.t, "rhacm"), binary)
		if c.secret == "" {
			continue
		}
		file := filepath.Join(o.t.TempDir(), "token")
		mountToken(o.t, c, file)
		out = append(out, readFile(o.t, file))
	}
	if len(out) != 2 {
		o.t.Fatalf("%d tokens, want those of resourcesync and aggregation", len(out))
	}
	return out
}

// The token Secrets are prerequisites because OLM creates a bundle's Secrets before the accounts,
// and Kubernetes deletes a token Secret without its account.
func TestTokenSecret_needsItsAccountFirst(t *testing.T) {
	const ns = "token-first"
	kubectl(t, "create", "namespace", ns)
	token := func(account string) string {
		return `{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: ` + account + `, namespace: ` + ns +
			`, annotations: {kubernetes.io/service-account.name: ` + account + `}}}`
	}
	kubectl(t, "-n", ns, "create", "serviceaccount", "before")
	applyText(t, token("before"))
	applyText(t, token("after"))
	world{t}.eventuallyGone("secrets", ns, "--field-selector=metadata.name=after")
	kubectl(t, "-n", ns, "create", "serviceaccount", "after")
	if left := (world{t}).names("secrets", ns); left != "secret/before\n" {
		t.Errorf("Secrets of namespace %s: %q, want the one whose account was there", ns, left)
	}
}
