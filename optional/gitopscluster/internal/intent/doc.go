// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intent computes what a GitOpsCluster asks for in either of its forms, which clusters may
// be removed, and what its status is. It is pure.
package intent
