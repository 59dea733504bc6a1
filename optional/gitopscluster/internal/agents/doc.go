// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agents delivers argocd-agent to the clusters that GitOpsClusters ask for. It finds the principal, keeps its certificates, decides which
// generation of a certificate each cluster needs, and delivers or removes the agent.
//
// [Reconciler.Fold] makes one [Plan] of what all GitOpsClusters ask for and of what the hub
// has, and reads both anew each time: no memory of the process decides but since when a
// GitOpsCluster is missing. A controller reconciles each cluster with the last plan. What a
// managed cluster may write (works, statuses) decides about that cluster alone.
package agents
