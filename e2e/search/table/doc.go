// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table is the index behind the stand-in for search v2: rows with flat
// properties, the relations between them, and the queries that the service
// answers. It knows nothing of HTTP, GraphQL or Kubernetes.
package table
