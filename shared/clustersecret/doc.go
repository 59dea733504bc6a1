// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clustersecret defines the cluster Secrets by which the hub's Argo CD registers managed clusters. Each
// cluster has one, and generators of ApplicationSets read them. propagation writes them, or gitopscluster if
// propagation runs with --register=false. The two never write them at the same time. Each of the two takes over the
// other's Secrets without a write, and leaves the fields that only the other sets.
//
// A Secret has the labels of its ManagedCluster, except those with a meaning in Argo CD, and names as data. Other
// data is removed. Labels and annotations of other writers stay, so an annotation lists which labels are copies. A
// Secret belongs to this project if it has our annotation. The labels prove nothing, because other controllers of a
// hub set the same ones. The hub itself is not registered: Argo CD has it as in-cluster, and it is never a target of
// the pull model.
package clustersecret
