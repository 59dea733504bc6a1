// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package search is a stand-in for the search v2 service. It has the part of its GraphQL schema that the product uses, over TLS, with the same
// rules of access, encodings, limits, relations and failures. It answers from a table, which is filled from real clusters (Live) or by a test.
//
// gqlparser parses a query and validates it with the service's schema, as in the real service. Only fields that the product requests are
// answered. The behaviour of the service was measured, and testdata has samples of its answers.
package search
