// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package principal finds argocd-agent's principal on the hub: its address for managed clusters,
// its image, and whether its settings fit the delivered agents. It only reads, and is pure except
// for its client.Reader.
package principal
