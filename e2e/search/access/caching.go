// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"sync"
	"time"
)

// Caching returns a Reviewer that remembers what next said: of tokens for
// tokens, of grants for grants. Like the service it remembers refusals and
// errors as well.
func Caching(next Reviewer, tokens, grants time.Duration) Reviewer {
	return &caching{
		next:    next,
		callers: memory[Caller]{keep: tokens, entries: map[string]remembered[Caller]{}},
		grants:  memory[Grant]{keep: grants, entries: map[string]remembered[Grant]{}},
	}
}

type caching struct {
	next    Reviewer
	callers memory[Caller]
	grants  memory[Grant]
}

func (c *caching) Authenticate(ctx context.Context, token string) (Caller, error) {
	return c.callers.get(token, func() (Caller, error) { return c.next.Authenticate(ctx, token) })
}

func (c *caching) Authorize(ctx context.Context, caller Caller, clusters []string) (Grant, error) {
	return c.grants.get(caller.UID, func() (Grant, error) { return c.next.Authorize(ctx, caller, clusters) })
}

// memory remembers values and errors for a while.
type memory[T any] struct {
	keep    time.Duration
	mu      sync.Mutex
	entries map[string]remembered[T]
}

type remembered[T any] struct {
	value T
	err   error
	until time.Time
}

func (m *memory[T]) get(key string, ask func() (T, error)) (T, error) {
	m.mu.Lock()
	entry, ok := m.entries[key]
	m.mu.Unlock()
	if ok && time.Now().Before(entry.until) {
		return entry.value, entry.err
	}
	value, err := ask()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[key] = remembered[T]{value: value, err: err, until: time.Now().Add(m.keep)}
	return value, err
}
