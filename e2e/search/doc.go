// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package search is a stand-in for the search v2 service: what the product asks
// for of its GraphQL schema, over TLS, the same rules of access, the same encodings, limits and
// relations, and the same ways to fail. It answers from a table that is filled
// from real clusters (Live) or by a test.
//
// A query is parsed and held against the service's schema by gqlparser, as in the real
// service, and of its fields those are answered that the product asks for. What the service
// does was measured on it; samples of its answers are under testdata.
package search
