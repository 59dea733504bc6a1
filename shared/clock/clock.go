// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clock waits. It has no dependencies, so that tests and tools can use it without
// controller libraries.
package clock

import (
	"context"
	"time"
)

// Sleep waits for d. It returns false if ctx ends earlier.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
