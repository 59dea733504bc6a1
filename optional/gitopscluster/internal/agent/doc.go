// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent says what a managed cluster with argocd-agent needs: the add-on that
// has OCM's registration agent ask for a client certificate, the ManifestWork that
// delivers the agent, and what the work's feedback reports about it. It is pure; package
// fleet below it reads and writes.
package agent
