// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"os"
	"time"
)

// WithParent returns a context that also ends when the process that started this
// one is gone: a fleet does not outlive the make or go that was killed around it.
func WithParent(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		cancel(errors.New("the parent process of this program has ended"))
	}()
	return ctx
}
