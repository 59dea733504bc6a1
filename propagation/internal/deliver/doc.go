// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deliver turns a hub Application into a ManifestWork for its managed
// cluster, keeps the two alike, withdraws the work when the Application may no
// longer be there, and reports on the Application why it is not delivered. It never
// changes the spec of a hub Application.
//
// What it does comes from pure packages: decide says what becomes of an Application and of each
// of its ManifestWorks, policy parses settings, payload makes the ManifestWork and its last
// version, request sees an operation or refresh through. Package budget says how many may end at
// a time. reconciler.go leads through them: facts.go and lookups.go gather facts, by cached.go or
// by live.go; apply.go carries a plan out; write.go writes works; operation.go sees operations
// through; report.go writes conditions and Events; watches.go leads changes to the Applications
// that they concern.
package deliver
