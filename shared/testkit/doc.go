// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit starts a real kube-apiserver and etcd for tests, with the
// project's and the third-party CRDs at their pinned versions, and builds the
// objects that tests need. Only tests import it, and e2e.
package testkit
