// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refresh sets Argo CD's refresh annotation on ApplicationSets when the clusters
// that their generators select may have changed. The ApplicationSet controller watches neither
// PlacementDecisions nor, for clusterDecisionResource, its cluster Secrets.
//
// What a refresh was asked for is kept in memory for each ApplicationSet, as a digest of
// its decisions. While an annotation is there nothing is written; when the controller has
// removed it, decisions that have changed meanwhile differ from the digest. A process that
// starts has no digests and asks for each ApplicationSet once, at a pace.
package refresh
