// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery reads and writes the ManifestWorks by which managed clusters get an Argo CD.
// Package argocd says what they hold and what is next; its state is in the works.
package delivery
