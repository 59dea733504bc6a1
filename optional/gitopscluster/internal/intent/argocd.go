// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd"
)

// ArgoCD is what each cluster gets.
type ArgoCD struct {
	// Install is [argocd.InstallManifests] or [argocd.InstallOperator].
	Install string
	// Namespace on the clusters.
	Namespace string
	// Image, RedisImage, ClusterRole and TakeOver as in the spec.
	Image, RedisImage, ClusterRole string
	TakeOver                       bool
	// MaxConcurrency is how many clusters change at a time.
	MaxConcurrency intstr.IntOrString
}

func argoCDOf(o *v1beta1.GitOpsCluster, hub string, agent *Agent, delivered bool) (*ArgoCD, *Problem) {
	spec := o.Spec.ArgoCD
	if spec == nil || !delivered {
		return nil, nil
	}
	a := &ArgoCD{
		Install: spec.Install, Namespace: cmp.Or(spec.Namespace, hub), Image: spec.Image, RedisImage: spec.RedisImage,
		ClusterRole: spec.ClusterRole, TakeOver: spec.TakeOver, MaxConcurrency: intstr.FromString(argocd.DefaultConcurrency),
	}
	if m := spec.MaxConcurrency; m != nil {
		a.MaxConcurrency = *m
	}
	if agent != nil {
		a.Namespace = cmp.Or(spec.Namespace, agent.Namespace)
	}
	if problem := a.problem(o, agent); problem != nil {
		return a, problem
	}
	if agent != nil && agent.Settings.Redis == nil && a.Install == argocd.InstallOperator {
		agent.Settings.Redis = &v1beta1.AgentRedis{Address: argocd.WorkName + "-redis:6379", SecretName: argocd.WorkName + "-redis-initial-password", SecretKey: "admin.password"}
	}
	return a, nil
}

// problem says what of it cannot be delivered.
func (a *ArgoCD) problem(o *v1beta1.GitOpsCluster, agent *Agent) *Problem {
	switch {
	case a.Install != argocd.InstallManifests && a.Install != argocd.InstallOperator:
		return &Problem{ReasonBadField, "spec.argoCD.install is neither Manifests nor Operator; correct it, or remove spec.argoCD where the clusters have an Argo CD"}
	case o.Spec.ArgoCDAgentAddon != nil && o.Spec.ArgoCDAgentAddon.ArgoCDCRManifestWork != nil:
		return &Problem{ReasonBadField, "spec.argoCD and argoCDCRManifestWork both bring an Argo CD; remove one of them"}
	case agent != nil && agent.Namespace != a.Namespace:
		return &Problem{ReasonBadField, fmt.Sprintf("spec.argoCD.namespace is %s, and the agent is delivered to %s; correct one of them", a.Namespace, agent.Namespace)}
	case a.Install == argocd.InstallOperator && (a.Image != "" || a.RedisImage != "" || a.ClusterRole != ""):
		return &Problem{ReasonBadField, "spec.argoCD.image, redisImage and clusterRole are for install Manifests; with an operator they are its own settings: remove them"}
	case a.MaxConcurrency.Type == intstr.Int && a.MaxConcurrency.IntVal < 1:
		return &Problem{ReasonBadField, "spec.argoCD.maxConcurrency is less than 1; set the number of clusters that may change at a time, or percent of them"}
	}
	if problem := agentNamespace(a.Namespace); problem != nil {
		return &Problem{problem.Reason, "spec.argoCD: " + problem.Message}
	}
	return nil
}
