// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func rendered(elements ...string) string {
	return deployPath(append([]string{"rendered"}, elements...)...)
}

// argocdWithPlugin renders one of Argo CD's own manifests with the component.
func argocdWithPlugin(t *testing.T, install string) []*unstructured.Unstructured {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v2")
	list.Dir = filepath.Join(testkit.Root(), "e2e")
	module, err := list.Output()
	if err != nil {
		t.Fatalf("find Argo CD's manifests: %v", err)
	}
	dir := t.TempDir()
	// A kustomization cannot name a component by an absolute path.
	for name, from := range map[string]string{"argo-cd": filepath.Join(strings.TrimSpace(string(module)), "manifests"), "rendered": rendered("argocd")} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("{namespace: argocd, resources: [argo-cd/"+install+"], components: [rendered]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, tool("kustomize"), "build", dir)
	return parse(t, out)
}

func named(t *testing.T, objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("no %s %s is rendered", kind, name)
	return nil
}

func field(t *testing.T, object map[string]any, path ...string) any {
	t.Helper()
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil || !found {
		t.Fatalf("no %s: %v", strings.Join(path, "."), err)
	}
	return value
}

// pick returns the entry of a list with the given name.
func pick(t *testing.T, list any, name string) map[string]any {
	t.Helper()
	entries, _ := list.([]any)
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok && entry["name"] == name {
			return entry
		}
	}
	t.Fatalf("no entry %s", name)
	return nil
}

// The component adds the plugin as a sidecar of the repo-server, with the repo-server's image. The restricted
// Pod Security Standard admits the pod. The UI gets the resource tab.
func TestRendered_addsThePluginToTheRepoServer(t *testing.T) {
	objects := argocdWithPlugin(t, "cluster-install")
	server := named(t, objects, "Deployment", "argocd-repo-server")
	pod := field(t, server.Object, "spec", "template", "spec").(map[string]any)
	if own, sidecar := pick(t, pod["containers"], "argocd-repo-server")["image"], pick(t, pod["containers"], "ocm")["image"]; own != sidecar {
		t.Errorf("the sidecar has image %v, the repo-server %v", sidecar, own)
	}
	config := field(t, pick(t, pod["volumes"], "ocm-config"), "configMap", "name").(string)
	if text := field(t, named(t, objects, "ConfigMap", config).Object, "data", "plugin.yaml"); text != readFile(t, rendered("argocd", "plugin.yaml")) {
		t.Errorf("the sidecar's configuration is %v", text)
	}
	if found := field(t, named(t, objects, "ConfigMap", "argocd-cmd-params-cm").Object, "data", "reposerver.plugin.tar.exclusions"); found != ".git/*" {
		t.Errorf("the repo-server leaves out %v", found)
	}
	ui := named(t, objects, "Deployment", "argocd-server")
	uiPod := field(t, ui.Object, "spec", "template", "spec").(map[string]any)
	extension := field(t, pick(t, uiPod["volumes"], "ocm-extension"), "configMap", "name").(string)
	const file = "extension-manifestwork.js" // argocd-server serves files that begin with "extension"
	if field(t, named(t, objects, "ConfigMap", extension).Object, "data").(map[string]any)[file] != readFile(t, rendered("argocd", file)) {
		t.Error("the UI does not get the resource tab")
	}
	if mount := pick(t, pick(t, uiPod["containers"], "argocd-server")["volumeMounts"], "ocm-extension"); mount["mountPath"] != "/tmp/extensions/ocm" {
		t.Errorf("the resource tab is where argocd-server does not look: %v", mount)
	}

	const ns = "restricted-argocd"
	kubectl(t, "create", "namespace", ns)
	kubectl(t, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
	for name, spec := range map[string]any{"argocd-repo-server": pod, "argocd-server": uiPod} {
		kubectl(t, "-n", ns, "create", "serviceaccount", name)
		asPod := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": ns}, "spec": spec,
		}}
		kubectl(t, "create", "--dry-run=server", "--validate=strict", "-f", writeJSON(t, asPod))
	}
}

// Every way to install Argo CD has the same health check, containers and settings.
func TestRendered_hasTheSameSettingsInEveryVariant(t *testing.T) {
	script := readFile(t, rendered("health.lua"))
	component := argocdWithPlugin(t, "cluster-install")
	values := parse(t, readFile(t, rendered("helm-values.yaml")))[0].Object
	operator := parse(t, readFile(t, rendered("openshift", "argocd.yaml")))[0].Object
	const key = "resource.customizations.health.work.open-cluster-management.io_ManifestWork"
	checks := field(t, operator, "spec", "resourceHealthChecks").([]any)
	for where, text := range map[string]any{
		"argocd":    field(t, named(t, component, "ConfigMap", "argocd-cm").Object, "data", key),
		"helm":      field(t, values, "configs", "cm", key),
		"openshift": checks[0].(map[string]any)["check"],
	} {
		if text != script {
			t.Errorf("%s: the health check is not health.lua: %s", where, cmp.Diff(script, text))
		}
	}

	pod := field(t, named(t, component, "Deployment", "argocd-repo-server").Object, "spec", "template", "spec").(map[string]any)
	for where, lists := range map[string][2]any{
		"helm":      {field(t, values, "repoServer", "initContainers"), field(t, values, "repoServer", "extraContainers")},
		"openshift": {field(t, operator, "spec", "repo", "initContainers"), field(t, operator, "spec", "repo", "sidecarContainers")},
	} {
		if diff := cmp.Diff(pick(t, pod["initContainers"], "ocm-plugin"), pick(t, lists[0], "ocm-plugin")); diff != "" {
			t.Errorf("%s: the init container differs (-kustomize +%s):\n%s", where, where, diff)
		}
		want, got := pick(t, pod["containers"], "ocm"), pick(t, lists[1], "ocm")
		for _, same := range []string{"command", "securityContext", "resources"} {
			if diff := cmp.Diff(want[same], got[same]); diff != "" {
				t.Errorf("%s: %s of the sidecar differs (-kustomize +%s):\n%s", where, same, where, diff)
			}
		}
	}

	params := field(t, named(t, component, "ConfigMap", "argocd-cmd-params-cm").Object, "data").(map[string]any)
	if diff := cmp.Diff(params, field(t, values, "configs", "params")); diff != "" {
		t.Errorf("helm: parameters of Argo CD differ (-kustomize +helm):\n%s", diff)
	}
	for key, where := range map[string][]string{
		"reposerver.plugin.tar.exclusions":   {"repo", "ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS"},
		"controller.resource.health.persist": {"controller", "ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH"},
	} {
		if got := pick(t, field(t, operator, "spec", where[0], "env"), where[1])["value"]; got != params[key] {
			t.Errorf("openshift: %s is %v, want %v", where[1], got, params[key])
		}
		delete(params, key)
	}
	if len(params) > 0 {
		t.Errorf("openshift: parameters of Argo CD that have no counterpart: %v", params)
	}
	volume := pick(t, pod["volumes"], "ocm-tmp")
	for where, volumes := range map[string]any{"helm": field(t, values, "repoServer", "volumes"), "openshift": field(t, operator, "spec", "repo", "volumes")} {
		if diff := cmp.Diff(volume, pick(t, volumes, "ocm-tmp")); diff != "" {
			t.Errorf("%s: the sidecar's folder differs (-kustomize +%s):\n%s", where, where, diff)
		}
	}

	plugin := parse(t, readFile(t, rendered("argocd", "plugin.yaml")))[0].Object
	if diff := cmp.Diff(plugin["spec"], field(t, values, "configs", "cmp", "plugins", "ocm")); diff != "" {
		t.Errorf("helm: the plugin's configuration differs (-kustomize +helm):\n%s", diff)
	}
	text, _ := run(t, tool("kustomize"), "build", rendered("openshift"))
	onOpenShift := field(t, find(t, parse(t, text), "ConfigMap").Object, "data", "plugin.yaml").(string)
	if want := strings.Replace(readFile(t, rendered("argocd", "plugin.yaml")), "--argocd-namespace=argocd", "--argocd-namespace=openshift-gitops", 1); onOpenShift != want {
		t.Errorf("openshift: the plugin's configuration differs:\n%s", cmp.Diff(want, onOpenShift))
	}
}

// The component and the chart value of rendered mode add the same objects. Only aggregation gets the flag and
// the permission to read Applications.
func TestRendered_isOffUnlessInstalled(t *testing.T) {
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			plain, on := byIdentity(t, kustomize(t, v.overlay)), byIdentity(t, kustomize(t, v.overlay, "rendered"))
			chart := byIdentity(t, chart(t, append([]string{"rendered.enabled=true"}, v.values...)...))
			chart["v1 Namespace /"+namespace] = on["v1 Namespace /"+namespace]
			if diff := cmp.Diff(on, chart); diff != "" {
				t.Errorf("the component (-) and the chart (+) differ:\n%s", diff)
			}
			var changed []string
			for id := range on {
				if !cmp.Equal(plain[id], on[id]) {
					changed = append(changed, strings.Fields(id)[1])
				}
			}
			slices.Sort(changed)
			want := "ClusterRole ClusterRole ClusterRoleBinding ClusterRoleBinding Deployment Deployment NetworkPolicy Role RoleBinding Service ServiceAccount ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
			if got := strings.Join(changed, " "); got != want {
				t.Errorf("it changes %s", got)
			}
		})
	}
	objects := kustomize(t, "ocm", "rendered")
	for _, container := range containers(t, named(t, objects, "Deployment", namespace)) {
		has := slices.Contains(container["args"].([]any), any("--rendered"))
		if name := container["name"]; has != (name == "aggregation") {
			t.Errorf("%s has --rendered: %t", name, has)
		}
	}
	for _, o := range objects {
		if o.GetKind() != "ClusterRoleBinding" || !strings.HasSuffix(o.GetName(), "-aggregation-rendered") {
			continue
		}
		want := []any{map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": credentialOf(t, objects, "aggregation").account}}
		if diff := cmp.Diff(want, o.Object["subjects"]); diff != "" {
			t.Errorf("the right goes to others than aggregation:\n%s", diff)
		}
	}
}

// The controller's Deployment fits its binary and meets the restricted standard. Outside its namespace the
// controller may only read, patch ManifestWorks and create reviews.
func TestRendered_restrictsItsController(t *testing.T) {
	const name = namespace + "-rendered"
	objects := kustomize(t, "ocm", "rendered")
	pod := field(t, named(t, objects, "Deployment", name).Object, "spec", "template", "spec").(map[string]any)
	container := pick(t, pod["containers"], "rendered")
	args := []string{"run", "./optional/rendered"}
	for _, arg := range container["args"].([]any) {
		args = append(args, arg.(string))
	}
	out, _ := run(t, "go", append(args, "--version")...) // an unknown flag fails before it
	if want := "registry.invalid/multicluster-integrations/rendered:" + strings.Fields(out)[1]; container["image"] != want {
		t.Errorf("image %v, but the binary reports %s", container["image"], want)
	}
	rights := 0
	for r := range grantedRights(t, objects) {
		if r.binary != "rendered" {
			continue
		}
		rights++
		if strings.Contains(r.String(), "*") || r.namespace == "" && !slices.Contains([]string{"list", "watch"}, r.verb) &&
			r.resource != "tokenreviews" && r.resource != "subjectaccessreviews" && (r.resource != "manifestworks" || r.verb != "patch") {
			t.Errorf("too much: %s", r)
		}
	}
	if rights == 0 {
		t.Fatal("no rights found: the test proves nothing")
	}

	const ns = "restricted-rendered"
	kubectl(t, "create", "namespace", ns)
	kubectl(t, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
	kubectl(t, "-n", ns, "create", "serviceaccount", name)
	asPod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": ns}, "spec": pod,
	}}
	kubectl(t, "create", "--dry-run=server", "--validate=strict", "-f", writeJSON(t, asPod))
}

// The plugin's configuration announces exactly the parameters that the executable accepts, and the executable
// accepts its flags.
func TestRendered_announcesTheParametersOfThePlugin(t *testing.T) {
	spec := field(t, parse(t, readFile(t, rendered("argocd", "plugin.yaml")))[0].Object, "spec").(map[string]any)
	command := exec.CommandContext(t.Context(), product("plugin"), "generate")
	for _, arg := range field(t, spec, "generate", "args").([]any) {
		command.Args = append(command.Args, arg.(string))
	}
	command.Dir = filepath.Join(testkit.Root(), "optional", "rendered")
	command.Env = append(os.Environ(), "ARGOCD_APP_NAME=a", "ARGOCD_APP_NAMESPACE=cluster1", `ARGOCD_APP_PARAMETERS=[{"name":"?"}]`)
	out, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("an unknown parameter is taken: %s", out)
	}
	_, known, ok := strings.Cut(strings.SplitN(string(out), "\n", 2)[0], "want one of ")
	if !ok {
		t.Fatalf("the flags are refused: %s", out)
	}
	announced := map[string]bool{}
	for _, p := range field(t, spec, "parameters", "static").([]any) {
		announced[p.(map[string]any)["name"].(string)] = true
	}
	for name := range strings.SplitSeq(known, ", ") {
		if !announced[name] {
			t.Errorf("parameter %s is not announced", name)
		}
		delete(announced, name)
	}
	if len(announced) > 0 {
		t.Errorf("announced, but not known: %v", announced)
	}
}

func TestExamples_passStrictValidationInRenderedMode(t *testing.T) {
	needNamespace(t, "argocd")
	files := []string{rendered("hub", "project.yaml"), rendered("hub", "rights.yaml"), rendered("app-set.yaml"), rendered("managed", "executor.yaml"), rendered("managed", "work-agent.yaml")}
	for _, file := range files {
		apply(t, file)
		kubectl(t, "delete", "--wait", "--timeout=2m", "-f", file)
	}
	if text := readFile(t, rendered("app-set.yaml")); !strings.Contains(text, contract.RenderedLabel+`: "true"`) || strings.Contains(text, contract.PullLabel) {
		t.Error("the ApplicationSet's labels are not those of rendered mode alone")
	}
}

// The component also adds the plugin to an Argo CD without UI.
func TestRendered_fitsAnArgoCDWithoutServer(t *testing.T) {
	objects := argocdWithPlugin(t, "core-install")
	named(t, objects, "Deployment", "argocd-repo-server")
	for _, o := range objects {
		if o.GetKind() == "Deployment" && o.GetName() == "argocd-server" {
			t.Error("the core installation has a server: it proves nothing")
		}
	}
}
