// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"k8s.io/client-go/tools/events"
)

// Reconciler delivers one Application at a time: it gathers what is known, has policy decide,
// and has its parts carry that out.
type Reconciler struct {
	*gatherer
	*identities
	*writer
	*operations
	*reporter
	*ender
	*sweeper
}

// newReconciler puts the parts together.
func newReconciler(g *gatherer, recorder events.EventRecorder) *Reconciler {
	timing := &tracker{}
	r := &Reconciler{
		gatherer: g, identities: &identities{g}, writer: &writer{gatherer: g, tracker: timing},
		operations: &operations{gatherer: g}, reporter: &reporter{gatherer: g, events: recorder, tracker: timing},
		sweeper: newSweeper(g),
	}
	r.ender = &ender{gatherer: g, writer: r.writer, reporter: r.reporter}
	return r
}
