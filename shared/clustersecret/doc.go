// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clustersecret is the shape of the cluster Secrets by which the hub's Argo CD
// knows managed clusters: one for each cluster, which generators of ApplicationSets read.
//
// propagation writes them, and gitopscluster where that is installed, never both. Each
// takes over what the other has written without a write: what only one of them gives a
// Secret, the other one leaves.
//
// A Secret is what its ManagedCluster says: its labels but for those that Argo CD
// gives a meaning to, and names as data, nothing else of which stays. Labels and
// annotations of others stay; which labels are copies, an annotation lists. It is ours when
// it carries our annotation; the labels alone prove nothing, since other controllers of a hub
// set the same ones. The hub's own cluster is not registered: Argo CD knows it as
// in-cluster already, and it is never a target of the pull model.
package clustersecret
