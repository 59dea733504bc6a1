// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deliver turns a hub Application into a ManifestWork for its managed
// cluster, keeps the two alike, withdraws the work when the Application may no
// longer be there, and reports on the Application why it is not delivered. It never
// changes the spec of a hub Application.
//
// What it decides and writes comes from pure packages: policy says whether an
// Application may be delivered, payload makes the ManifestWork, request sees an
// operation or refresh through, ending how a work ends, budget how many may at a time.
// reconciler.go leads through them, with delete.go, withdraw.go, pause.go and observe.go
// for an Application that is not simply delivered. Its parts: gather.go reads what a
// decision rests on, identity.go who a place on a cluster belongs to, write.go writes works,
// end.go ends them, operation.go sees operations through, report.go writes conditions and
// Events, watches.go leads changes to the Applications that they concern.
package deliver
