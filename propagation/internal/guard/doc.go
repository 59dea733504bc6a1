// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard keeps a mistake on the hub from removing what runs on many managed
// clusters: it says which of the deliveries that are to be withdrawn may be, and
// which are held until an operator has decided. It knows no client and is told the
// time; what it remembers is in [Records], which its caller stores.
//
// A [Ledger] is told of every delivery that is to be withdrawn and is then asked for
// a [Plan]. Deliveries are judged in groups: those of one ApplicationSet, or those of
// one namespace that no ApplicationSet owns, and all of the hub together.
package guard
