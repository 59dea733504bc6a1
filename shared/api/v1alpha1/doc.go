// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the MulticlusterApplicationSetReport API. Its field names
// and types are a contract with existing readers of the report.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
package v1alpha1
