// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the three binaries against a fleet of real components.
package e2e
