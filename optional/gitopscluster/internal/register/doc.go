// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package register writes the cluster Secrets of the hub's Argo CDs as a [Scope] says:
// which clusters are known where, and which of them have an agent.
package register
