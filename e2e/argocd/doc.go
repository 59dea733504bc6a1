// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd tests deploy/examples/argocd-on-clusters: Open Cluster Management's real add-on manager and
// agents install Argo CD on managed clusters. No container runs. The fleet acts as kubelet and StatefulSet
// controller, and starts Argo CD's real application controller with the delivered settings.
package argocd
