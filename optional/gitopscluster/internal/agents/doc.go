// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agents delivers argocd-agent to the clusters that GitOpsClusters ask for. It finds the principal, keeps its
// certificates, decides which generation of a certificate each cluster needs, and delivers or removes the agent.
//
// [Reconciler.MakePlan] compares the requests of all GitOpsClusters with the hub, and returns one [Plan]. It reads
// both each time. The only state that it keeps in memory is the time at which it first missed a GitOpsCluster. A
// controller reconciles each cluster with the last plan. Objects that a managed cluster may write (works, statuses)
// decide about that cluster alone.
package agents
