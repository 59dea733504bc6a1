// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rendered has the rows of Applications in rendered mode. Their ManifestWorks carry manifests and not the
// Application. So their state comes from the status that the hub's own Argo CD writes on the hub Application.
//
// [Rows] only uses memory and is a source of rows of the index. [Follower] connects it to the informers. [Compact]
// returns the few bytes that the cache keeps of each Application. Nothing is watched unless rendered mode is enabled.
package rendered
