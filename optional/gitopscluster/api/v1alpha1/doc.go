// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the GitOpsCluster API in its other served version: the objects of
// v1beta1 under another name, so that nothing is lost in either direction.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
package v1alpha1
