// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// Caching returns a Reviewer that remembers what next said: of tokens for
// tokens, of grants for grants. Like the service it remembers refusals and
// errors as well.
func Caching(next Reviewer, tokens, grants time.Duration) Reviewer {
	return &caching{
		next:    next,
		callers: memory[Caller]{keep: tokens, entries: cache.NewExpiring()},
		grants:  memory[Grant]{keep: grants, entries: cache.NewExpiring()},
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
	entries *cache.Expiring
}

type remembered[T any] struct {
	value T
	err   error
}

func (m memory[T]) get(key string, ask func() (T, error)) (T, error) {
	if found, ok := m.entries.Get(key); ok {
		entry := found.(remembered[T]) //nolint:forcetypeassert // nothing else is put there
		return entry.value, entry.err
	}
	value, err := ask()
	m.entries.Set(key, remembered[T]{value, err}, m.keep)
	return value, err
}
