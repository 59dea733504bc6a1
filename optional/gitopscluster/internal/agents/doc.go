// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agents brings argocd-agent to the clusters that GitOpsClusters ask it for: it
// finds the principal, keeps its certificates, says which generation of a certificate
// each cluster has, and has the agent delivered, or taken off again.
//
// Two kinds of work share one queue: an Argo CD of the hub as a whole, whose principal
// and certificates all of its clusters depend on, and one cluster. What is known is read
// anew after a start; until every GitOpsCluster has been reconciled, no agent leaves, and until
// every cluster has been looked at, the CA is not changed.
package agents
