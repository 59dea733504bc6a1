// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package search is a client of search v2, the GraphQL service that indexes the resources on
// managed clusters. It follows the measured behaviour of the service. HTTP 200 without an error
// does not mean that an answer is complete. So an answer is returned only if it passes every check,
// and each other case has its own kind of error.
package search
