// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
)

func memory(quantity string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}}
}

// The Deployment follows the AddOnDeploymentConfig, and ignores entries for other add-ons.
func TestDeployment_followsAddOnDeploymentConfig(t *testing.T) {
	w := wanted(t)
	w.Config = &addonv1alpha1.AddOnDeploymentConfigSpec{
		AgentInstallNamespace: "open-cluster-management-agent-addon", // the schema's default
		NodePlacement:         &addonv1alpha1.NodePlacement{NodeSelector: map[string]string{"infra": "true"}, Tolerations: []corev1.Toleration{{Key: "infra", Operator: corev1.TolerationOpExists}}},
		ProxyConfig:           addonv1alpha1.ProxyConfig{HTTPSProxy: "http://proxy:3128", NoProxy: ".svc"},
		CustomizedVariables:   []addonv1alpha1.CustomizedVariable{{Name: "ARGOCD_AGENT_LOG_LEVEL", Value: "debug"}, {Name: "OF_ANOTHER_ADDON", Value: "x"}},
		ResourceRequirements:  []addonv1alpha1.ContainerResourceRequirements{{ContainerID: "*:*:*", Resources: memory("1Mi")}, {ContainerID: "deployments:" + DeploymentName + ":*", Resources: memory("64Mi")}, {ContainerID: "jobs:*:*", Resources: memory("2Mi")}},
	}
	d := decoded[appsv1.Deployment](t, mustWork(t, w, ""), "Deployment", DeploymentName)
	if d == nil || d.Namespace != w.AgentNamespace {
		t.Fatalf("the Deployment is %v", d)
	}
	pod := d.Spec.Template.Spec
	if pod.NodeSelector["infra"] != "true" || len(pod.Tolerations) != 1 || pod.Containers[0].Resources.Requests.Memory().String() != "64Mi" {
		t.Errorf("pod %+v", pod)
	}
	got := map[string]string{}
	for _, e := range pod.Containers[0].Env {
		if e.ValueFrom == nil {
			got[e.Name] = e.Value
		}
	}
	if diff := cmp.Diff(map[string]string{"ARGOCD_AGENT_LOG_LEVEL": "debug", "HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".svc,$(KUBERNETES_SERVICE_HOST)"}, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestCheckConfig(t *testing.T) {
	cases := map[string]struct {
		reason    string
		variables []addonv1alpha1.CustomizedVariable
		want      string
	}{
		"none":   {reason: "there is nothing to refuse"},
		"other":  {reason: "a configuration may be for several add-ons", variables: []addonv1alpha1.CustomizedVariable{{Name: "X"}, {Name: "ARGOCD_AGENT_LOG_LEVEL"}}},
		"ours":   {reason: "it would have no effect", variables: []addonv1alpha1.CustomizedVariable{{Name: "ARGOCD_AGENT_MODE"}}, want: "ARGOCD_AGENT_MODE"},
		"redis":  {reason: "also one without the prefix", variables: []addonv1alpha1.CustomizedVariable{{Name: "REDIS_ADDR"}}, want: "spec.agent"},
		"flood":  {reason: "each is in every work", variables: make([]addonv1alpha1.CustomizedVariable, maxVariables+1), want: "more than 50"},
		"at top": {reason: "that many are allowed", variables: make([]addonv1alpha1.CustomizedVariable, maxVariables)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := CheckConfig(&addonv1alpha1.AddOnDeploymentConfigSpec{CustomizedVariables: c.variables}); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("%s: %q", c.reason, got)
			}
		})
	}
}
