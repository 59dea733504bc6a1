// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance compares our types and constants with Argo CD's, and checks that a delivered
// Application equals the hub Application. It has only tests.
package conformance
