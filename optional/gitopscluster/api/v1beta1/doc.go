// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is the GitOpsCluster API in its stored version. Its spec knows the
// fields of both kinds of GitOpsCluster that are in use, so that v1alpha1 serves the same
// objects, and the API server has nothing to convert.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
package v1beta1
