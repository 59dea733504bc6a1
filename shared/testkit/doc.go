// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit starts a real kube-apiserver and etcd for tests, and builds objects for tests.
// The API server has the CRDs of this project, and CRDs of other projects at pinned versions. Only
// tests and e2e import it.
package testkit
