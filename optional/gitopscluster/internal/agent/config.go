// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
)

const (
	// variablePrefix begins the variables of argocd-agent.
	variablePrefix = "ARGOCD_AGENT_"
	// maxVariables limits the variables that a configuration adds to each work.
	maxVariables = 50
)

// CheckConfig returns why a configuration is invalid, or "". For example, a variable that
// gitopscluster sets itself would have no effect.
func CheckConfig(c *addonv1alpha1.AddOnDeploymentConfigSpec) string {
	if len(c.CustomizedVariables) > maxVariables {
		return fmt.Sprintf("spec.customizedVariables has more than %d entries; remove some", maxVariables)
	}
	for _, v := range c.CustomizedVariables {
		if slices.ContainsFunc(settings, func(s setting) bool { return s.variable == v.Name }) {
			return fmt.Sprintf("spec.customizedVariables has %s, which follows from the GitOpsCluster; remove it, and see spec.agent there", v.Name)
		}
	}
	return ""
}

// configure has a Deployment follow an add-on's configuration. Variables that are not
// argocd-agent's are for other add-ons: one configuration may be for several.
func configure(d *appsv1.Deployment, c *addonv1alpha1.AddOnDeploymentConfigSpec) {
	if c == nil {
		return
	}
	pod := &d.Spec.Template.Spec
	if p := c.NodePlacement; p != nil {
		pod.NodeSelector, pod.Tolerations = p.NodeSelector, p.Tolerations
	}
	container := &pod.Containers[0]
	for _, r := range c.ResourceRequirements { // the last match counts
		if matches(r.ContainerID, "deployments", d.Name, container.Name) {
			container.Resources = r.Resources
		}
	}
	for _, v := range c.CustomizedVariables {
		if strings.HasPrefix(v.Name, variablePrefix) {
			container.Env = append(container.Env, corev1.EnvVar{Name: v.Name, Value: v.Value})
		}
	}
	container.Env = append(container.Env, proxy(c.ProxyConfig)...)
}

// proxy returns the variables that every Go program follows. The API server of the cluster is never
// reached through a proxy. Kubernetes adds the API server's address to the container's environment.
func proxy(p addonv1alpha1.ProxyConfig) []corev1.EnvVar {
	var env []corev1.EnvVar
	add := func(name, value string) {
		if value != "" {
			env = append(env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	add("HTTP_PROXY", p.HTTPProxy)
	add("HTTPS_PROXY", p.HTTPSProxy)
	if len(env) > 0 {
		add("NO_PROXY", strings.TrimPrefix(p.NoProxy+",$(KUBERNETES_SERVICE_HOST)", ","))
	}
	return env
}

// matches reports whether an id "<resource>:<name>:<container>" selects a container. In each part,
// * matches anything.
func matches(id string, parts ...string) bool {
	patterns := strings.Split(id, ":")
	if len(patterns) != len(parts) {
		return false
	}
	for i, pattern := range patterns {
		if ok, err := path.Match(pattern, parts[i]); !ok || err != nil {
			return false
		}
	}
	return true
}
