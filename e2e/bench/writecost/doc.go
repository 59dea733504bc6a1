// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writecost measures how much one write of an Application or of a ManifestWork costs the hub's API
// server. It alternates between several ways to write on one server. Decision 0008 is based on it. It needs
// kube-apiserver and etcd (make tools):
//
//	go test -run - -bench . -benchtime 25x ./bench/writecost
//
// Each iteration runs all ways once, in random order. The benchmark measures the processor time of the
// process. It needs thousands of writes of each way for a stable result, because each way pays for the
// garbage of the others. The bytes that the server allocates for a write are stable at once. WRITECOST
// selects ways by a regular expression of their names. WRITECOST_PROFILES is a folder for the API server's
// CPU profile of each way.
package writecost
