// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard keeps a mistake on the hub from removing what runs on many managed
// clusters: it says which of the deliveries that are to be withdrawn may be, and
// which are held until an operator has decided. It is pure: the caller passes the
// time, and stores its [Records].
//
// The caller notes every delivery that is to be withdrawn in a [Ledger], which then makes
// a [Plan]. Deliveries are judged in groups: those of one ApplicationSet, or those of
// one namespace that no ApplicationSet owns, and all of the hub together.
package guard
