// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

const (
	firstReconnect = time.Second
	lastReconnect  = time.Minute
)

// Hints turns a subscription into polls before their time. It promises nothing:
// the poller's interval stays.
type Hints struct {
	// Wake gets a value after a change; several changes may share one.
	Wake chan struct{}

	watch func(ctx context.Context, changed func()) error
	log   logr.Logger
}

// NewHints returns hints from watch, which returns when a subscription has ended.
func NewHints(watch func(ctx context.Context, changed func()) error, log logr.Logger) *Hints {
	return &Hints{Wake: make(chan struct{}, 1), watch: watch, log: log}
}

// NeedLeaderElection is false: the files belong to the pod.
func (h *Hints) NeedLeaderElection() bool { return false }

// Start subscribes again and again until ctx ends.
func (h *Hints) Start(ctx context.Context) error {
	pause := firstReconnect
	said := ""
	for {
		err := h.watch(ctx, h.changed)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // stopping is no failure
		case err == nil:
			pause, said = firstReconnect, ""
			h.changed() // what happens until somebody listens again
		default:
			if kind := kindOf(err); kind != said {
				h.log.Info("search cannot be watched; polls go on", "kind", kind, "reason", err.Error())
				said = kind
			}
			pause = min(2*pause, lastReconnect)
		}
		if !sleep(ctx, jitter(pause)) {
			return nil
		}
	}
}

func (h *Hints) changed() {
	select {
	case h.Wake <- struct{}{}:
	default: // one is waiting already
	}
}
