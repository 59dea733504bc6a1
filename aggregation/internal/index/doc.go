// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package index keeps the rows of the report of each ApplicationSet up to date by events. A change of a ManifestWork
// updates one row. A change of a ManagedCluster updates the rows of that cluster. An intermediate report updates the
// rows of its ApplicationSet. Nothing is listed, and nothing is recomputed as a whole.
//
// [Index] only uses memory. [Feed] connects it to the informers and to the directory of intermediate reports. Package
// manifestcache defines the few bytes that the cache keeps of each ManifestWork.
package index
