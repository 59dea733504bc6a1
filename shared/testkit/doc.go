// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit starts a real kube-apiserver and etcd for tests, with the CRDs of the project and
// of others at pinned versions, and builds objects for tests. Only tests and e2e import it.
package testkit
