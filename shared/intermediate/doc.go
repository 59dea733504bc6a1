// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package intermediate is the file between resourcesync and aggregation: one
// intermediate report per ApplicationSet, in a directory that both containers
// mount. It is their only interface, so it carries a schema version: the two are
// upgraded one at a time, in any order. Version N reads N-1, and every version
// ignores fields that it does not know. A reader that cannot read a newer version keeps
// what it knows.
package intermediate
