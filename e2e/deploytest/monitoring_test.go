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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rule is an alert of deploy/monitoring.
type rule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func ruleSpec(t *testing.T) map[string]any {
	t.Helper()
	spec, _, err := unstructured.NestedMap(parse(t, readFile(t, deployPath("monitoring", "base", "rules.yaml")))[0].Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func rules(t *testing.T) []rule {
	t.Helper()
	content, err := json.Marshal(ruleSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	var spec struct{ Groups []struct{ Rules []rule } }
	if err := json.Unmarshal(content, &spec); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range spec.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no alert rule found")
	}
	return all
}

// promtool accepts the rules and passes their unit tests.
func TestAlerts_passTheirUnitTests(t *testing.T) {
	dir := t.TempDir()
	content, err := json.Marshal(ruleSpec(t)) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	tests := readFile(t, deployPath("monitoring", "base", "rules_test.yaml"))
	for name, text := range map[string]string{"rules.yaml": string(content), "rules_test.yaml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, tool("promtool"), "check", "rules", filepath.Join(dir, "rules.yaml"))
	run(t, tool("promtool"), "test", "rules", filepath.Join(dir, "rules_test.yaml"))
	for _, r := range rules(t) {
		for _, key := range []string{"summary", "description", "runbook"} {
			if r.Annotations[key] == "" {
				t.Errorf("alert %s has no %s", r.Alert, key)
			}
		}
		if r.Labels["severity"] == "" {
			t.Errorf("alert %s has no severity", r.Alert)
		}
		if !firesAndResolves(t, ruleTests(t), r.Alert) {
			t.Errorf("no test shows alert %s firing, and silent again afterwards", r.Alert)
		}
	}
}

// panel is a panel of the dashboard.
type panel struct {
	Title, Type, Description string
	Targets                  []struct{ Expr string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal([]byte(readFile(t, deployPath("monitoring", "base", "dashboard.json"))), &dashboard); err != nil {
		t.Fatal(err)
	}
	if len(dashboard.Panels) == 0 {
		t.Fatal("no panel found")
	}
	return dashboard.Panels
}

// The code, or controller-runtime or Prometheus's client, registers every metric of an alert or a panel.
// Every metric of our code is used in an alert or a panel, or no operator would see it.
func TestMonitoring_usesTheRegisteredMetrics(t *testing.T) {
	known := registeredMetrics(t)
	used := map[string]bool{}
	check := func(where, expr string) {
		for _, name := range metricNames(expr) {
			base := strings.TrimSuffix(name, "_bucket")
			used[base] = true
			if !known[base] && !foreign[base] && !outside[base] {
				t.Errorf("%s asks for %s, which no binary exports", where, name)
			}
		}
	}
	for _, r := range rules(t) {
		check("alert "+r.Alert, r.Expr)
	}
	for _, p := range panels(t) {
		if p.Type != "row" && p.Description == "" {
			t.Errorf("panel %q does not explain itself", p.Title)
		}
		for _, target := range p.Targets {
			check("panel "+p.Title, target.Expr)
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("%s is exported but in no panel and no alert", name)
		}
	}
}

func TestMonitoring_selectsEveryService(t *testing.T) {
	for _, variant := range []string{"base", "openshift"} {
		out, _ := run(t, tool("kustomize"), "build", deployPath("monitoring", variant))
		objects := parse(t, out)
		for _, o := range objects {
			if ns := o.GetNamespace(); ns != namespace && !strings.HasPrefix(o.GetKind(), "ClusterRole") {
				t.Errorf("%s: %s is not in %s", variant, identity(o), namespace)
			}
		}
		// The ServiceMonitor selects the Services, and each port of them has an endpoint.
		monitor, service := find(t, objects, "ServiceMonitor"), find(t, kustomize(t, "ocm"), "Service")
		services := []*unstructured.Unstructured{service}
		for part, name := range map[string]string{"gitopsclusters": "gitopscluster", "liveview": "liveview", "page": "page", "placement": "placement", "rendered": "rendered"} {
			services = append(services, &unstructured.Unstructured{Object: byIdentity(t, kustomize(t, "ocm", part))["v1 Service "+namespace+"/multicluster-integrations-"+name+"-metrics"]})
		}
		selector, _, _ := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
		ports := map[string]bool{}
		for _, s := range services {
			for key, value := range selector {
				if s.GetLabels()[key] != value {
					t.Errorf("%s: Service %s has no label %s=%s", variant, s.GetName(), key, value)
				}
			}
			list, _, _ := unstructured.NestedSlice(s.Object, "spec", "ports")
			for _, p := range list {
				ports[fmt.Sprint(p.(map[string]any)["name"])] = true
			}
		}
		endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
		if len(endpoints) != len(ports) {
			t.Fatalf("%s: %d endpoints for %d ports", variant, len(endpoints), len(ports))
		}
		for _, e := range endpoints {
			if port := fmt.Sprint(e.(map[string]any)["port"]); !ports[port] {
				t.Errorf("%s: no Service has port %s", variant, port)
			}
		}
	}
}
