// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitopscluster tests how a GitOpsCluster brings argocd-agent to managed clusters
// and takes it off again, on a fleet of real parts: gitopscluster with the shipped roles
// signs what OCM's registration agents ask for, and OCM's work agents apply the agent, on
// one cluster in the newest and on one in the oldest supported version.
//
// Principal and agent themselves do not run. No kubelet does, and kwok calls the agent's
// pods ready; package standin does with TLS what both would, with the certificates that
// they would have been started with.
package gitopscluster
