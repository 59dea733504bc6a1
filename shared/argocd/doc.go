// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd has the project's own types of Argo CD's objects. Spec, operation and status of an
// Application stay the raw bytes that the user or Argo CD wrote. So no field of a newer Argo CD is
// lost, and nothing is decoded that no reader uses.
//
// +kubebuilder:object:generate=true
package argocd
