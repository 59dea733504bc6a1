// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract holds every word that crosses a process border: label and
// annotation keys, names, and the feedback that comes back through a
// ManifestWork. A key lives here exactly once, so that two binaries which must
// agree on it cannot drift apart.
package contract
