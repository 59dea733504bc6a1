// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd is the project's own view of Argo CD's objects. An Application
// is carried, not understood: spec, operation and status stay the bytes that the
// user or a newer Argo CD wrote, so nothing is lost on the way and nothing is
// decoded that no reader uses.
//
// +kubebuilder:object:generate=true
package argocd
