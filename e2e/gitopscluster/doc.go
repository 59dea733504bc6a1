// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitopscluster tests how a GitOpsCluster installs argocd-agent on managed clusters and removes it,
// on a fleet of real components. gitopscluster, with the shipped roles, signs the requests of OCM's
// registration agents. OCM's work agents apply the agent, on one cluster in the newest and on one in the
// oldest supported version.
//
// Principal and agent themselves do not run, because there is no kubelet. kwok marks the agent's pods as
// ready. Package standin makes the TLS connection of both, with the certificates that they would use.
package gitopscluster
