// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
)

func TestOf_argoCD(t *testing.T) {
	zero := intstr.FromInt32(0)
	for name, c := range map[string]struct {
		change    func(*v1beta1.GitOpsCluster)
		off       bool
		namespace string
		refusal   string
		unused    string
	}{
		"the namespace of the hub's": {change: func(*v1beta1.GitOpsCluster) {}, namespace: "argocd"},
		"its own namespace":          {change: func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD.Namespace = "gitops" }, namespace: "gitops"},
		"the agent's": {change: func(o *v1beta1.GitOpsCluster) {
			o.Spec.ArgoServer, o.Spec.ArgoCDAgentAddon = nil, &v1beta1.ArgoCDAgentAddonSpec{AgentNamespace: "agents"}
		}, namespace: "agents"},
		"not the agent's": {change: func(o *v1beta1.GitOpsCluster) {
			o.Spec.ArgoServer, o.Spec.ArgoCDAgentAddon = nil, &v1beta1.ArgoCDAgentAddonSpec{AgentNamespace: "agents"}
			o.Spec.ArgoCD.Namespace = "gitops"
		}, namespace: "gitops", refusal: "the agent is delivered to agents"},
		"two of them": {change: func(o *v1beta1.GitOpsCluster) {
			o.Spec.ArgoServer, o.Spec.ArgoCDAgentAddon = nil, &v1beta1.ArgoCDAgentAddonSpec{ArgoCDCRManifestWork: &v1beta1.ArgoCDCRManifestWorkSpec{}}
		}, namespace: "argocd", refusal: "both bring an Argo CD"},
		"a namespace of Kubernetes": {change: func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD.Namespace = "kube-system" }, namespace: "kube-system", refusal: "kube-system"},
		"an unknown way":            {change: func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD.Install = "Helm" }, namespace: "argocd", refusal: "neither Manifests nor Operator"},
		"an operator's image": {change: func(o *v1beta1.GitOpsCluster) {
			o.Spec.ArgoCD.Install, o.Spec.ArgoCD.Image = "Operator", "x"
		}, namespace: "argocd", refusal: "are for install Manifests"},
		"none at a time":    {change: func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD.MaxConcurrency = &zero }, namespace: "argocd", refusal: "less than 1"},
		"not delivered":     {change: func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD.Install = "Helm" }, off: true, unused: "--argocd-delivery"},
		"another namespace": {change: func(o *v1beta1.GitOpsCluster) { o.Namespace = "team" }, unused: "spec.argoCD: it grants rights"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "fleet"}}
			o.Spec.ArgoServer = &v1beta1.ArgoServerSpec{ArgoNamespace: "argocd"}
			o.Spec.PlacementRef.Name = "all"
			o.Spec.ArgoCD = &v1beta1.ArgoCDSpec{Install: "Manifests"}
			c.change(o)
			in := Of(o, Settings{Namespaces: []string{"argocd"}, Agents: true, ArgoCD: !c.off})
			if got := in.ArgoCD; (got == nil) != (c.namespace == "") || got != nil && got.Namespace != c.namespace {
				t.Errorf("delivered is %+v", got)
			}
			if (in.Refusal != nil) != (c.refusal != "") || in.Refusal != nil && !strings.Contains(in.Refusal.Message, c.refusal) {
				t.Errorf("refused: %+v", in.Refusal)
			}
			if unused := strings.Join(in.Unused, " "); !strings.Contains(unused, c.unused) {
				t.Errorf("unused are %s", unused)
			}
		})
	}
}

// An agent beside an operator's Argo CD reads the Redis of that one.
func TestOf_agentReadsTheRedisOfTheOperators(t *testing.T) {
	o := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "fleet"}}
	o.Spec.ArgoCDAgentAddon = &v1beta1.ArgoCDAgentAddonSpec{}
	o.Spec.PlacementRef.Name = "all"
	o.Spec.ArgoCD = &v1beta1.ArgoCDSpec{Install: "Operator"}
	in := Of(o, Settings{Namespaces: []string{"argocd"}, Agents: true, ArgoCD: true})
	if r := in.Agent.Settings.Redis; r == nil || r.Address != "mci-argocd-redis:6379" || r.SecretName != "mci-argocd-redis-initial-password" {
		t.Errorf("it reads %+v", r)
	}
}
