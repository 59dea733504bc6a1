// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd tests Argo CD that gitopscluster delivers to managed clusters without one, by
// the real agents of Open Cluster Management. No container runs: the fleet plays kubelet and
// StatefulSet controller, and starts Argo CD's real application controller with what was
// delivered.
package argocd
