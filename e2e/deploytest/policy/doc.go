// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy tests the ValidatingAdmissionPolicies that narrow what RBAC grants to the
// accounts of this project: each with a table of requests, on a real API server.
package policy
