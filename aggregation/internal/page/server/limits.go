// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// Requests a second of one user, and how many may come at once: a browser that opens a
	// user's pages again asks for all of them, their styles and their streams in one moment.
	userRate  = 20
	userBurst = 60
	// Refused tokens a second of one address, and how many at once.
	failureRate  = 5
	failureBurst = 20
	// maxKeys is how many users, and how many addresses, are remembered.
	maxKeys = 1000
	// keepFor is how long; a limiter is full again long before.
	keepFor = time.Hour
	// maxBuilding is how many answers are made at once, maxUserAnswers how many of one user are
	// made or sent, and maxSending how many bytes wait for their readers. This process writes
	// the reports as well, in 192 MiB.
	maxBuilding    = 4
	maxUserAnswers = 4
	maxSending     = 16 << 20
	// turnTimeout is how long a request waits for its turn.
	turnTimeout = 10 * time.Second
)

// limits bound what requests cost. A user's never depend on those of others, but for memory.
type limits struct {
	building, sending *semaphore.Weighted
	users             *cache.LRUExpireCache // *user by name
	failures          *cache.LRUExpireCache // *rate.Limiter by address
}

// user is one viewer, by name.
type user struct {
	requests *rate.Limiter
	answers  *semaphore.Weighted
}

func newLimits() *limits {
	return &limits{
		building: semaphore.NewWeighted(maxBuilding), sending: semaphore.NewWeighted(maxSending),
		users: cache.NewLRUExpireCache(maxKeys), failures: cache.NewLRUExpireCache(maxKeys),
	}
}

// user returns what bounds a user's requests.
func (l *limits) user(name string) *user {
	return entry(l.users, name, func() *user {
		return &user{rate.NewLimiter(userRate, userBurst), semaphore.NewWeighted(maxUserAnswers)}
	})
}

// failuresOf returns what bounds the refused tokens of a request's address.
func (l *limits) failuresOf(r *http.Request) *rate.Limiter {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	return entry(l.failures, address, func() *rate.Limiter { return rate.NewLimiter(failureRate, failureBurst) })
}

// entry returns what is cached, or makes it. Of two that are made at the same moment the
// last one counts.
func entry[T any](in *cache.LRUExpireCache, key string, make func() T) T {
	if cached, ok := in.Get(key); ok {
		if e, ok := cached.(T); ok {
			return e
		}
	}
	e := make()
	in.Add(key, e, keepFor)
	return e
}

// turn waits for a part of what there is; end gives it back.
func turn(ctx context.Context, of *semaphore.Weighted, n int64) (end func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	if of.Acquire(ctx, n) != nil {
		return nil, false
	}
	return sync.OnceFunc(func() { of.Release(n) }), true
}
