// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import "open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"

// unused returns the fields that are set but ignored, each with its remedy.
func unused(spec *v1beta1.GitOpsClusterSpec) []string {
	var found []string
	add := func(set bool, what string) {
		if set {
			found = append(found, what)
		}
	}
	add(spec.ManagedServiceAccountRef != "", "managedServiceAccountRef: nothing is pushed and Secrets hold no tokens; remove it, or keep the clusters that need push in a GitOpsCluster of another controller's hub")
	add(spec.CreateBlankClusterSecrets != nil && !*spec.CreateBlankClusterSecrets, "createBlankClusterSecrets: Secrets never hold tokens; remove it or set it to true")
	add(isTrue(spec.CreatePolicyTemplate), "createPolicyTemplate: no ManagedServiceAccounts are needed; remove it")
	none := !wantsAgent(spec)
	add(spec.Agent != nil && none, "spec.agent: no argocd-agent is asked for; set gitopsAddon.argoCDAgent.enabled or argoCDAgentAddon, or remove it")
	add(spec.Principal != nil && none, "spec.principal: no argocd-agent is asked for; set gitopsAddon.argoCDAgent.enabled or argoCDAgentAddon, or remove it")
	if a := spec.GitOpsAddon; a != nil {
		agent := a.ArgoCDAgent != nil && isTrue(a.ArgoCDAgent.Enabled)
		add(isTrue(a.Enabled) && !agent, "gitopsAddon.enabled: no Argo CD is installed on clusters; install it by a ManifestWork or policy of your own")
		add(!isTrue(a.Enabled) && agent, "gitopsAddon.argoCDAgent.enabled: it counts only with gitopsAddon.enabled; set that too")
		add(a.GitOpsOperatorImage != "", "gitopsAddon.gitOpsOperatorImage: no operator is installed; remove it")
		add(isTrue(a.OverrideExistingConfigs), "gitopsAddon.overrideExistingConfigs: there are no such configurations; remove it")
		add(a.OLMSubscription != nil && isTrue(a.OLMSubscription.Enabled), "gitopsAddon.olmSubscription: no operator is installed; remove it")
		add(a.ArgoCDAgent != nil && a.ArgoCDAgent.PropagateHubCA != nil && !*a.ArgoCDAgent.PropagateHubCA, "gitopsAddon.argoCDAgent.propagateHubCA: agents always get the CA of their principal; remove it")
	}
	if a := spec.ArgoCDAgentAddon; a != nil {
		add(a.OperatorNamespace != "", "argoCDAgentAddon.operatorNamespace: no operator is installed; remove it")
	}
	return found
}

// wantsAgent reports whether a spec asks for argocd-agent, in whichever shape.
func wantsAgent(spec *v1beta1.GitOpsClusterSpec) bool {
	a := spec.GitOpsAddon
	return spec.ArgoCDAgentAddon != nil || a != nil && isTrue(a.Enabled) && a.ArgoCDAgent != nil && isTrue(a.ArgoCDAgent.Enabled)
}
