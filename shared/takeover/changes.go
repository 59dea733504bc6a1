// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// window is how long a change is remembered at least: longer than a Lease lasts whose
// leader died, and than the leader may have been behind.
const window = time.Minute

// Changes are the objects that changed lately while this process did not lead. The zero
// value remembers none and is ready for use.
type Changes struct {
	now func() time.Time // nil: time.Now

	mu sync.Mutex
	// lately are those since the time begun, before those of the window before it.
	lately, before map[types.NamespacedName]struct{}
	begun          time.Time
	taken          bool
}

// Note remembers a change, for one to two minutes.
func (c *Changes) Note(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken {
		return
	}
	c.turn()
	c.lately[key] = struct{}{}
}

// Forget forgets what was noted up to now: what is there at start is no change.
func (c *Changes) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lately, c.before = nil, nil
}

// Take returns the objects that changed lately, in no order. From then on nothing is
// remembered any more.
func (c *Changes) Take() []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken {
		return nil
	}
	c.turn()
	maps.Copy(c.lately, c.before)
	keys := slices.Collect(maps.Keys(c.lately))
	c.taken, c.lately, c.before = true, nil, nil
	return keys
}

// turn forgets what is too old.
func (c *Changes) turn() {
	now := time.Now
	if c.now != nil {
		now = c.now
	}
	switch age := now().Sub(c.begun); {
	case age > 2*window:
		c.lately, c.before = nil, nil
	case age > window:
		c.lately, c.before = nil, c.lately
	}
	if c.lately == nil {
		c.lately, c.begun = map[types.NamespacedName]struct{}{}, now()
	}
}
