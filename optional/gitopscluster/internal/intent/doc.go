// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intent parses the desired state of a GitOpsCluster in either of its forms. It computes
// which clusters may be removed, and the status. It is pure.
package intent
