// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout tests the binaries of propagation and rollout together, on a real API server
// with simulated clusters: kills at random points, and the cost of a rollback.
package rollout
