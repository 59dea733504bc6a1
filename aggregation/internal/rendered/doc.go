// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rendered makes the rows of Applications in rendered mode. Their
// ManifestWorks carry manifests and not the Application, so what is known about them
// is what the hub's own Argo CD says in the status of the hub Application.
//
// [Rows] is pure memory and a source of rows of the index. [Follower] connects it to
// the informers; [Compact] makes the few bytes that the cache holds of each
// Application. Nothing is watched unless rendered mode is switched on.
package rendered
