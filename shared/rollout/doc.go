// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout is what propagation and the rollout controller agree on: the
// ApplicationSetRollout, what counts as the content of an Application, and what the
// ManifestWork of a cluster may carry. It is pure.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
// +versionName=v1alpha1
package rollout
