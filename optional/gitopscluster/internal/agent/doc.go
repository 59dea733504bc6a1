// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent computes the objects of a managed cluster with argocd-agent. The add-on makes OCM's
// registration agent request a client certificate. The ManifestWork delivers the agent. Package
// agent also computes the state that the work's feedback reports. It is pure. Package fleet below
// it reads and writes.
package agent
