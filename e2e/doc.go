// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e holds the tests that run the three binaries against a fleet of
// real parts.
package e2e
