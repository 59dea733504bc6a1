// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package register registers every accepted ManagedCluster with the hub's Argo CD: one
// cluster Secret each, which generators of ApplicationSets read. The Secret holds
// names only, no credentials; nothing ever dials its server. Where gitopscluster is
// installed, that writes the Secrets instead; package clustersecret has their shape.
package register
