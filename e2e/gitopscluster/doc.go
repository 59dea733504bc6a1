// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitopscluster tests how argocd-agent comes to managed clusters, on a fleet of
// real parts: OCM's registration agents ask for client certificates, its work agents
// apply the agent, on one cluster in the newest and on one in the oldest supported
// version. The agent itself does not run: no kubelet does, and kwok calls its pods ready.
package gitopscluster
