// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writecost measures what one write of an Application or of a ManifestWork costs
// the hub's API server, for the ways in which a client may write it: side by side, on one
// server, in turns. Decision 0008 rests on it. It needs kube-apiserver and etcd (make tools):
//
//	go test -run - -bench . -benchtime 25x ./bench/writecost
//
// Each iteration is a round of all ways, in an order of its own. Processor time is that of
// the process, and takes some thousand writes of each way to settle, since each pays for
// the garbage of others; the bytes that the server allocates for a write settle at once.
// WRITECOST picks ways by a regular expression of their names, WRITECOST_PROFILES is a
// folder for the API server's CPU profile of each.
package writecost
