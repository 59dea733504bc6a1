// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy tests the ValidatingAdmissionPolicies that restrict the RBAC permissions of this project's
// accounts. Each test has a table of requests to a real API server.
package policy
