// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package register tells the hub's Argo CD of every accepted ManagedCluster: one
// cluster Secret each, which generators of ApplicationSets read. The Secret holds
// names only, no credentials; nothing ever dials its server.
//
// A Secret is what its ManagedCluster says: its labels but for those that Argo CD
// gives a meaning to, and names as data, nothing else of which stays. Labels and
// annotations of others are left; which labels are copies, an annotation lists. It is ours when it carries
// our annotation; the labels alone do not tell, since other controllers of a hub
// set the same ones. The hub's own cluster is not registered: Argo CD knows it as
// in-cluster already, and it is never a target of the pull model.
package register
