// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// agentSpec returns the desired agents of a GitOpsCluster that selects clusters, and holds others.
func agentSpec(o *v1beta1.GitOpsCluster, in intent.Intent, selected []string, held map[string]bool) agents.Spec {
	a := agents.Spec{
		Owner: key(o), Created: o.CreationTimestamp.Time, ArgoNamespace: in.ArgoNamespace, Clusters: selected, Held: held,
		RotateCA: in.RotateCA, Abandon: in.Abandon, AtLeast: in.Generation, Deleting: !o.DeletionTimestamp.IsZero(),
		// A refused GitOpsCluster changes nothing. Its deletion still proceeds, unless it has an
		// invalid annotation that may have been meant to prevent the deletion.
		DryRun: in.DryRun || in.Refusal != nil && (o.DeletionTimestamp.IsZero() || in.Refusal.Reason == intent.ReasonBadAnnotation),
	}
	if w := in.Agent; w != nil && in.Refusal == nil && o.DeletionTimestamp.IsZero() {
		field := "spec.gitopsAddon.argoCDAgent.serverAddress"
		if o.Spec.ArgoCDAgentAddon != nil {
			field = "spec.argoCDAgentAddon.principalServerAddress"
		}
		a.Agent = &agents.Agent{
			Mode: w.Mode, Address: w.Address, Port: w.Port, Field: field, Namespace: w.Namespace, Manifests: w.Manifests,
			Settings: w.Settings, KeepAlive: w.KeepAlive, Principal: w.Principal, RestartPrincipal: w.RestartPrincipal,
		}
	}
	return a
}

// shape sets the content for the Secret of a cluster with an agent.
func shape(of func(namespace, cluster string) (string, []byte, error), want *clustersecret.Desired, namespace, cluster string) {
	server, config, err := of(namespace, cluster)
	switch {
	case err != nil: // agents.ErrNotKnown, because package agents reports any other error
		want.KeepShape = true
	case server != "":
		want.Agent = &clustersecret.Agent{Server: server, Config: config}
	}
}
