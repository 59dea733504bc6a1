// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deliver writes the ManifestWork that delivers a hub Application to its managed cluster,
// and keeps it up to date. It removes the ManifestWork if the Application may no longer be on that
// cluster. Conditions of the Application report why it is not delivered. The spec of a hub
// Application never changes.
//
// Pure packages decide. Package decide computes what becomes of an Application and of each of its
// ManifestWorks. Package policy parses settings. Package payload builds the ManifestWork and its
// ending. Package request plans the steps of an operation or refresh. Package budget limits how
// many deliveries are removed.
//
// reconciler.go calls the parts in their order. facts.go and lookups.go gather facts through
// cached.go or live.go. apply.go carries a plan out. It uses write.go for works, operation.go for
// operations, and report.go for conditions and Events. watches.go maps changes to the Applications
// that they concern.
package deliver
