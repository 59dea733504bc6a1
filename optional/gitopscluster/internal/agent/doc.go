// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent computes what a managed cluster with argocd-agent needs: the add-on that makes
// OCM's registration agent request a client certificate, the ManifestWork that delivers the agent,
// and the state that the work's feedback reports. It is pure. Package fleet below it reads and
// writes.
package agent
