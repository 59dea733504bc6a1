// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writecost measures what one write of an Application or of a ManifestWork costs the hub's API server, for several ways to
// write it. It alternates between the ways on one server. Decision 0008 rests on it. It needs kube-apiserver and etcd (make tools):
//
//	go test -run - -bench . -benchtime 25x ./bench/writecost
//
// Each iteration runs all ways once, in random order. Processor time is measured for the process. It takes thousands of writes of
// each way to settle, because each way pays for the garbage of the others. The bytes that the server allocates for a write settle at
// once. WRITECOST selects ways by a regular expression of their names. WRITECOST_PROFILES is a folder for the API server's CPU
// profile of each way.
package writecost
