// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet keeps argocd-agent on managed clusters: the ManagedClusterAddOn that has
// OCM's registration agent fetch a client certificate, and the ManifestWork that delivers
// the agent. It runs inside another controller, which says for which clusters.
package fleet
