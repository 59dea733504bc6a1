// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"sync/atomic"
)

// Connection is a WebSocket. A later subscription on it silences the earlier.
type Connection struct{ latest atomic.Int64 }

// subscribe returns whether this subscription has been silenced.
func (c *Connection) subscribe() (silenced func() bool) {
	if c == nil {
		return func() bool { return false }
	}
	number := c.latest.Add(1)
	return func() bool { return c.latest.Load() != number }
}
