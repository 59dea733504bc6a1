// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refresh sets Argo CD's refresh annotation on ApplicationSets if the clusters that their
// generators select may have changed. The ApplicationSet controller does not watch
// PlacementDecisions. For clusterDecisionResource it does not watch its cluster Secrets either.
//
// For each ApplicationSet, a digest in memory identifies the decisions of its last refresh. While
// the annotation exists, nothing is written. When the controller has removed it, decisions that
// have changed in the meantime differ from the digest. A new process has no digests and requests a
// refresh of each ApplicationSet once, at intervals.
//
// A refresh must not be requested while OCM rewrites decisions, because a cluster that moves from
// one to the next is in none meanwhile. So memory also has the clusters that may have an
// Application, and a cluster in no decision delays the refresh.
package refresh
