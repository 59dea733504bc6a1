// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package register writes the cluster Secrets of the hub's Argo CDs. A [Scope] decides which
// clusters are registered where, and which of them have an agent.
package register
