// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package principal finds argocd-agent's principal on the hub: where managed clusters
// reach it, which image it runs, and whether its settings fit the agents that are
// delivered. It reads only, and it is pure but for its client.Reader.
package principal
