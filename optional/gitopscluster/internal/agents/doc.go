// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agents delivers argocd-agent to the clusters that GitOpsClusters ask for. It finds the principal, keeps its certificates, decides which
// generation of a certificate each cluster needs, and delivers or removes the agent.
//
// Two kinds of work share one queue: an Argo CD of the hub, on whose principal and certificates all of its clusters depend, and one cluster. After a
// start everything is read again. No agent is removed until every GitOpsCluster was reconciled, and the CA does not change until every cluster was
// checked.
package agents
