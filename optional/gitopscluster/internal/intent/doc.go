// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intent says what a GitOpsCluster asks for, in whichever words it is written,
// which clusters may leave, and what its status is. It is pure.
package intent
