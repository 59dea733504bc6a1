// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deliver turns a hub Application into a ManifestWork for its managed
// cluster, keeps the two alike, withdraws the work when the Application may no
// longer be there, and says on the Application why it is not delivered. It never
// changes the spec of a hub Application.
//
// payload.go, work.go, decide.go and operation.go are pure; reconciler.go and the
// files it calls talk to the hub.
package deliver
