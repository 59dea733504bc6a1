// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestChart_passesHelmLint(t *testing.T) {
	run(t, tool("helm"), "lint", "--strict", "--kube-version", "1.34.0", deployPath("chart"))
}

// The chart must reject a wrong value and must not render it into a pod.
func TestChart_refusesInvalidValues(t *testing.T) {
	cases := []struct{ value, names, reason string }{
		{"replica=2", "replica", "a misspelt key changes nothing and must be said"},
		{"replicas=two", "replicas", "not a number"},
		{"argocd.namespace=Argo_CD", "argocd", "not a legal namespace"},
		{"propagation.tag=", "propagation", "an image without tag or digest is a moving target"},
		{"propagation.digest=sha256:1", "propagation", "a cut-off digest"},
		{"aggregation.args={leader-elect}", "aggregation", "not a flag"},
		{"image.pullPolicy=Sometimes", "pullPolicy", "no such policy"},
		{"image.registry=registry.example.com/", "registry", "the slash is the chart's"},
		{"reportsSizeLimit=64", "reportsSizeLimit", "64 bytes can only be a mistake"},
		{"networkPolicy=false", "networkPolicy", "the switch is called enabled"},
		{"networkPolicy.apiServerPorts={api}", "apiServerPorts", "a port has a number"},
		{"networkPolicy.apiServerPorts=null", "apiServerPorts", "without a port no pod reaches the API server"},
		{"argocd.namespace=" + namespace, "argocd.namespace", "two Roles have one name there: Helm makes one, and propagation reads no Secrets"},
		{"rhacm.namespace=" + namespace, "rhacm.namespace", "the same, and RHACM has a Deployment of the name"},
		{"rhacm.namespace=argocd", "rhacm.namespace", "two Roles have one name there"},
		{"gitopscluster.argocd=true", "gitopscluster", "no such value: it changes nothing and must be said"},
		{"gitopscluster.create.argocd=Operator", "gitopscluster", "the same"},
	}
	for _, c := range cases {
		t.Run(c.value, func(t *testing.T) {
			_, stderr, err := try(t, tool("helm"), helmArgs("template", namespace, c.value)...)
			if err == nil {
				t.Fatalf("rendered, but should be refused: %s", c.reason)
			}
			if !strings.Contains(stderr, c.names) {
				t.Errorf("the refusal does not name %q:\n%s", c.names, stderr)
			}
		})
	}
}

func TestChart_rendersItsValues(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	objects := chart(t, "image.registry=registry.example.com:5000", "propagation.digest="+digest, "resourcesync.tag=0.2.0",
		"aggregation.args={--zap-log-level=debug}", "image.pullSecrets[0].name=pull", "networkPolicy.enabled=false",
		"podDisruptionBudget.enabled=false", "crd.install=false", "priorityClassName=high", "nodeSelector.role=infra",
		"tolerations[0].operator=Exists", "reportsSizeLimit=1Gi")
	deployment := find(t, objects, "Deployment")

	images := map[string]string{}
	for _, c := range containers(t, deployment) {
		images[c["name"].(string)] = c["image"].(string)
	}
	for name, want := range map[string]string{
		"propagation":  "registry.example.com:5000/multicluster-integrations/propagation@" + digest,
		"resourcesync": "registry.example.com:5000/multicluster-integrations/resourcesync:0.2.0",
		"aggregation":  "registry.example.com:5000/multicluster-integrations/aggregation:0.1.0",
	} {
		if images[name] != want {
			t.Errorf("image of %s: %s, want %s", name, images[name], want)
		}
	}
	if args := argsOf(t, deployment, "aggregation"); args[len(args)-1] != "--zap-log-level=debug" {
		t.Errorf("the added argument is not the last one: %q", args)
	}
	for _, path := range [][]string{{"imagePullSecrets"}, {"priorityClassName"}, {"nodeSelector"}, {"tolerations"}} {
		if _, found, _ := unstructured.NestedFieldNoCopy(deployment.Object, append([]string{"spec", "template", "spec"}, path...)...); !found {
			t.Errorf("the pod has no %s", path)
		}
	}
	for _, o := range objects {
		switch o.GetKind() {
		case "NetworkPolicy", "PodDisruptionBudget", "CustomResourceDefinition":
			t.Errorf("%s is rendered though switched off", identity(o))
		}
	}
}

// The values for pods apply to every pod, including the optional pods.
func TestChart_rendersPodValuesIntoEveryPod(t *testing.T) {
	objects := chart(t, "gitopscluster.enabled=true", "rendered.enabled=true", "liveview.enabled=true", "page.enabled=true", "placement.enabled=true", "networkPolicy.apiServerPorts={8443,16443}", "podLabels.team=a", "podAnnotations.scrape=no",
		"affinity.nodeAffinity.x=y", "priorityClassName=high", "nodeSelector.role=infra", "tolerations[0].operator=Exists", "image.pullSecrets[0].name=pull")
	pods, policies := 0, 0
	for _, o := range objects {
		switch o.GetKind() {
		case "Deployment":
			pods++
			template := field(t, o.Object, "spec", "template").(map[string]any)
			for _, path := range [][]string{
				{"metadata", "labels", "team"}, {"metadata", "annotations", "scrape"}, {"spec", "affinity", "nodeAffinity"}, {"spec", "priorityClassName"},
				{"spec", "nodeSelector", "role"}, {"spec", "tolerations"}, {"spec", "imagePullSecrets"},
			} {
				if _, found, _ := unstructured.NestedFieldNoCopy(template, path...); !found {
					t.Errorf("%s: the pod has no %s", o.GetName(), strings.Join(path, "."))
				}
			}
		case "NetworkPolicy":
			if o.GetNamespace() != namespace {
				continue // this policy permits liveview's requests to Argo CD's Redis
			}
			policies++
			want := []any{map[string]any{"protocol": "TCP", "port": 8443.0}, map[string]any{"protocol": "TCP", "port": 16443.0}}
			if diff := cmp.Diff(want, field(t, o.Object, "spec", "egress").([]any)[1].(map[string]any)["ports"]); diff != "" {
				t.Errorf("%s: %s", o.GetName(), diff)
			}
		}
	}
	if pods != 6 || policies != 6 {
		t.Errorf("%d Deployments and %d NetworkPolicies, want 6 of each", pods, policies)
	}
}
