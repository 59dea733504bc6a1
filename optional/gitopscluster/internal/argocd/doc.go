// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd is about an Argo CD that is delivered to managed clusters by ManifestWork:
// what is delivered, what a managed cluster's feedback means, and which cluster is next.
//
// What is delivered is part of Argo CD's own manifests in the version that this project is
// tested with, generated from the pinned module: see manifests.yaml.
package argocd
