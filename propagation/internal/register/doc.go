// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package register registers every accepted ManagedCluster with the hub's Argo CD by a cluster
// Secret, which generators of ApplicationSets read. The Secret holds names only and no credentials,
// and nothing ever connects to its server. If gitopscluster is installed, that writes the Secrets
// instead. Package clustersecret defines their content.
package register
