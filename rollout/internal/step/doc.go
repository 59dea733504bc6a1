// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package step is pure: what is next in a rollout, from its status and from what its
// clusters report.
package step
