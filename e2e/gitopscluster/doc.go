// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitopscluster tests how a GitOpsCluster installs argocd-agent on managed clusters and removes it,
// on a fleet of real components. gitopscluster, with the shipped roles, signs the requests of OCM's
// registration agents. OCM's work agents apply the agent. One cluster has the newest supported version of
// the work agent, and one has the oldest.
//
// Principal and agent themselves do not run, because the fleet has no kubelet. kwok marks the agent's pods
// as ready. Package standin makes the TLS connection of both, with the certificates that they would use.
package gitopscluster
