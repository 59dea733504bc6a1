// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// These are the delays until the next pass without an event.
const (
	checkInterval   = 10 * time.Minute
	waitingInterval = 20 * time.Second
	// patience is how long a change of the CA may take before it is a problem.
	patience = time.Hour
)

// pass is one check of everything.
type pass struct {
	keeper *Keeper
	wanted Facts
	now    time.Time
	state  State
	// key is the Secret with the CA's key.
	key client.ObjectKey
	// own is set when at least one of the Secrets is ours.
	own bool
	// blocked is set when the principal had better not be restarted.
	blocked bool
}

// lookAt requests the next pass at a time or earlier.
func (p *pass) checkAt(when time.Time) {
	p.state.After = min(p.state.After, max(when.Sub(p.now), time.Second))
}
