// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package push follows a commit from a git forge's webhook to the managed clusters and
// back: the hub's real Argo CD API server takes the signed event, propagation brings the
// refresh to the clusters, and Argo CD polls as it does by default, every three minutes. It
// has only tests.
package push
