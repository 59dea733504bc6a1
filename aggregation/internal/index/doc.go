// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index keeps, for each ApplicationSet, the rows of its report, up to
// date by events: a change of one ManifestWork makes one row anew, a change of a
// ManagedCluster those of that cluster, an intermediate report those of its
// ApplicationSet. Nothing is listed and nothing is recomputed as a whole.
//
// [Index] is pure memory. [Feed] connects it to the informers and to the
// directory of intermediate reports; package manifestcache makes the few bytes
// that the cache holds of each ManifestWork.
package index
