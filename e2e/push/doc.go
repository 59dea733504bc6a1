// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package push tests a commit from a git forge's webhook to the managed clusters and back. The hub's real
// Argo CD API server receives the signed event, and propagation delivers the refresh to the clusters. Argo CD
// polls only at its default interval of three minutes. The package has only tests.
package push
