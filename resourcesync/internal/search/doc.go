// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package search is a client of search v2, the GraphQL service that indexes what
// runs on managed clusters. It is built to the service's measured behaviour: HTTP
// 200 without an error does not mean that an answer is complete, so an answer is
// returned only when every check on it holds, and every other case has an error
// kind of its own.
package search
