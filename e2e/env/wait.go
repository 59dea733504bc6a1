// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"time"
)

const (
	// Patience is how long a wait lasts unless it says otherwise. It is generous:
	// it bounds a failure and is no claim about speed.
	Patience = 4 * time.Minute
	pause    = 50 * time.Millisecond
)

// Wait asks probe again and again until it says done. probe also says what it
// saw; when the time is over, the error names what was waited for and what was
// last seen.
func Wait(ctx context.Context, what string, probe func(context.Context) (done bool, saw string)) error {
	return WaitFor(ctx, Patience, what, probe)
}

// WaitFor is [Wait] with a patience of its own.
func WaitFor(ctx context.Context, patience time.Duration, what string, probe func(context.Context) (done bool, saw string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	last := "nothing"
	for {
		done, saw := probe(ctx)
		if done {
			return nil
		}
		if ctx.Err() == nil {
			last = saw // a probe that was cut off says nothing new
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; last seen: %s", what, context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}
