// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "sync"

// currentRights are what an open stream may tell, while they are asked for again.
type currentRights struct {
	mu      sync.Mutex
	allowed func(namespace string) bool
}

func (c *currentRights) allow(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allowed(namespace)
}

// replace takes new rights, and reports false when one that was there is gone.
func (c *currentRights) replace(allowed func(string) bool, namespaces []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.allowed
	c.allowed = allowed
	for _, n := range namespaces {
		if before(n) && !allowed(n) {
			return false
		}
	}
	return true
}
