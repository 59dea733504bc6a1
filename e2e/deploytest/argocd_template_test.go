// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// addOnTemplate is the checked part of the script's output.
type addOnTemplate struct {
	Metadata struct{ Name string }
	Spec     struct {
		AgentSpec struct {
			Workload        struct{ Manifests []json.RawMessage }
			ManifestConfigs []workv1.ManifestConfigOption
		}
	}
}

// The script renders Argo CD of two versions as an AddOnTemplate. Every object stays after the add-on, and no
// existing object of a cluster is changed by force. The API server accepts it, and the ClusterManagementAddOn
// that names it.
func TestArgoCDTemplate_passesStrictValidation(t *testing.T) {
	needNamespace(t, "argocd")
	for next, name := range map[bool]string{false: scenario.ArgoCDTemplate, true: "argocd-next"} {
		text, err := scenario.RenderArgoCDTemplate(t.Context(), name, scenario.CoreInstall(next))
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 300_000 {
			t.Errorf("%s has %d bytes, more than a ManifestWork of half a MiB leaves room for", name, len(text))
		}
		file := filepath.Join(t.TempDir(), name+".json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		kubectl(t, "create", "--validate=strict", "-f", file)
		kubectl(t, "delete", "-f", file)
		checkTemplate(t, text, name)
	}
	addOn := deployPath("examples", "argocd-on-clusters", "addon.yaml")
	apply(t, addOn)
	kubectl(t, "delete", "--wait", "--timeout=2m", "-f", addOn)
	if !strings.Contains(readFile(t, addOn), "{name: "+scenario.ArgoCDTemplate+"}") {
		t.Errorf("the example does not name %s", scenario.ArgoCDTemplate)
	}
}

func checkTemplate(t *testing.T, text []byte, name string) {
	t.Helper()
	var template addOnTemplate
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	if template.Metadata.Name != name {
		t.Errorf("%s is called %s", name, template.Metadata.Name)
	}
	var all []string
	for _, raw := range template.Spec.AgentSpec.Workload.Manifests {
		o := parse(t, string(raw))[0]
		all = append(all, o.GetKind()+" "+o.GetName())
		if _, orphan := o.GetAnnotations()["addon.open-cluster-management.io/deletion-orphan"]; !orphan {
			t.Errorf("%s: %s %s ends with the add-on", name, o.GetKind(), o.GetName())
		}
		if strategy := strategyOf(template, o.GetKind()); o.GetKind() == "Namespace" || o.GetKind() == "ConfigMap" || o.GetKind() == "Secret" || o.GetKind() == "ServiceAccount" || o.GetKind() == "AppProject" {
			if strategy != "CreateOnly" {
				t.Errorf("%s: %s is %q", name, o.GetKind(), strategy)
			}
		} else if strategy != "ServerSideApply false" {
			t.Errorf("%s: %s is %q", name, o.GetKind(), strategy)
		}
	}
	list := strings.Join(all, "\n")
	for _, want := range []string{"Namespace argocd", "CustomResourceDefinition applications.argoproj.io", "StatefulSet argocd-application-controller", "AppProject default"} {
		if !strings.Contains(list, want) {
			t.Errorf("%s has no %s:\n%s", name, want, list)
		}
	}
	if strings.Contains(list, "applicationset") {
		t.Errorf("%s has something of ApplicationSets:\n%s", name, list)
	}
}

// resources maps the kinds of Argo CD's manifests to their resources.
var resources = map[string]string{
	"Namespace": "namespaces", "ConfigMap": "configmaps", "Secret": "secrets", "ServiceAccount": "serviceaccounts", "Service": "services",
	"CustomResourceDefinition": "customresourcedefinitions", "Role": "roles", "RoleBinding": "rolebindings", "ClusterRole": "clusterroles",
	"ClusterRoleBinding": "clusterrolebindings", "Deployment": "deployments", "StatefulSet": "statefulsets", "NetworkPolicy": "networkpolicies", "AppProject": "appprojects",
}

// strategyOf returns how OCM's work agent writes objects of a kind, and whether by force.
func strategyOf(template addOnTemplate, kind string) string {
	for _, config := range template.Spec.AgentSpec.ManifestConfigs {
		if id := config.ResourceIdentifier; id.Resource != resources[kind] || id.Name != "*" || id.Namespace != "*" {
			continue
		}
		if apply := config.UpdateStrategy.ServerSideApply; apply != nil {
			return fmt.Sprint(config.UpdateStrategy.Type, " ", apply.Force)
		}
		return string(config.UpdateStrategy.Type)
	}
	return ""
}

// The script rejects an installation that OCM cannot deliver, and names the object and the remedy.
func TestArgoCDTemplate_refusesWhatOCMCannotCarry(t *testing.T) {
	install := readFile(t, scenario.CoreInstall(false))
	configMap := func(name, text string) string {
		return install + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  text: '" + text + "'\n"
	}
	large := install
	for i := range 3 {
		large += configMap(fmt.Sprintf("large-%d", i), strings.Repeat("x", 350_000))[len(install):]
	}
	for reason, c := range map[string]struct {
		install string
		want    []string
	}{
		"an object that is too large":      {configMap("large", strings.Repeat("x", 400_000)), []string{"ConfigMap argocd/large has 400", "at most 400000", "cluster/kustomization.yaml"}},
		"all of it that is too large":      {large, []string{"AddOnTemplate argocd-test has 1", "at most 1048576", "cluster/kustomization.yaml"}},
		"what OCM takes for a value":       {configMap("banner", "hello {{name}}"), []string{"ConfigMap argocd/banner has \"{{\"", "remove it", "cluster/kustomization.yaml"}},
		"no definition of Applications":    {strings.ReplaceAll(install, "name: applications.argoproj.io\n", "name: others.argoproj.io\n"), []string{"no CustomResourceDefinition applications.argoproj.io", "manifests/core-install.yaml"}},
		"an empty file, as of a bad fetch": {"", []string{"empty", "download manifests/core-install.yaml"}},
	} {
		file := filepath.Join(t.TempDir(), "core-install.yaml")
		if err := os.WriteFile(file, []byte(c.install), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := scenario.RenderArgoCDTemplate(t.Context(), "argocd-test", file)
		if err == nil {
			t.Errorf("%s: it prints %d bytes", reason, len(text))
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", reason, err, want)
			}
		}
	}
}
