// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package search is a stand-in for the search v2 service. It serves the part of the service's GraphQL schema
// that the product uses, over TLS. It has the same rules of access, encodings, limits, relations and
// failures. It answers from a table, which real clusters (Live) or a test fill.
//
// gqlparser parses a query and validates it with the service's schema, as in the real service. The stand-in
// answers only fields that the product requests. The behaviour of the service was measured, and testdata has
// samples of its answers.
package search
