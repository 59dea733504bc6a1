// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table is the index of the stand-in for search v2: rows with flat properties, the
// relations between them, and the service's queries. It does not depend on HTTP, GraphQL or
// Kubernetes.
package table
