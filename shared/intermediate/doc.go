// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intermediate defines the file between resourcesync and aggregation: one intermediate
// report per ApplicationSet, in a directory that both containers mount. The directory is their only
// interface, so a report has a schema version, because you upgrade the two containers one at a
// time, in any order. Version N reads N-1, and every version ignores unknown fields. A reader that
// cannot read a newer version keeps its last report.
package intermediate
