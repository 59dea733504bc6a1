// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet keeps argocd-agent on managed clusters. It writes the ManagedClusterAddOn that
// makes OCM's registration agent fetch a client certificate, and the ManifestWork that delivers the
// agent. Another controller calls it for each cluster.
package fleet
