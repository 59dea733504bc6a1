// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd tests deploy/examples/argocd-on-clusters: Argo CD that Open Cluster Management's
// real add-on manager and agents bring to managed clusters. No container runs: the fleet plays
// kubelet and StatefulSet controller, and starts Argo CD's real application controller with what
// was delivered.
package argocd
