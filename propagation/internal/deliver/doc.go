// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deliver turns a hub Application into a ManifestWork for its managed
// cluster, keeps the two alike, withdraws the work when the Application may no
// longer be there, and says on the Application why it is not delivered. It never
// changes the spec of a hub Application.
//
// What it decides and writes comes from pure packages: policy says whether an
// Application may be delivered, payload makes the ManifestWork, request sees an
// operation or refresh through. reconciler.go leads through them; read.go reads their
// inputs, apply.go writes, delete.go and withdraw.go take away, status.go tells.
package deliver
