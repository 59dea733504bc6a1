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
	// These limit the requests of one user per second, and their burst. A browser that restores a
	// user's pages requests all of them and their styles at once.
	userRate  = 20
	userBurst = 60
	// These limit rejected tokens from one address per second, and their burst.
	failureRate  = 5
	failureBurst = 20
	// maxStrangers limits the parallel reviews of tokens that were never accepted, and maxTrying
	// those from one address.
	maxStrangers = 8
	maxTrying    = 4
	// maxKeys limits how many users, and how many addresses, are remembered.
	maxKeys = 1000
	// keepFor is how long they are remembered. A limiter is full again much earlier.
	keepFor = time.Hour
	// maxBuilding limits the answers that are made in parallel. maxUserAnswers limits the answers
	// of one user that are made or sent. maxSending limits the bytes that wait to be read.
	// maxUserSending limits the waiting bytes of one user.
	maxBuilding    = 4
	maxUserAnswers = 4
	maxSending     = 16 << 20
	maxUserSending = 4 << 20
	// turnTimeout is how long a request may wait.
	turnTimeout = 10 * time.Second
)

// limits bound the cost of requests. A user's limits do not depend on other users, except for
// memory.
type limits struct {
	building, sending, strangers *semaphore.Weighted
	users                        *cache.LRUExpireCache // *user by name
	addresses                    *cache.LRUExpireCache // *origin by address
	creating                     sync.Mutex            // of users and addresses
}

// user is one viewer, by name.
type user struct {
	requests         *rate.Limiter
	answers, sending *semaphore.Weighted
}

// origin is the address of an unknown client.
type origin struct {
	refused *rate.Limiter
	trying  *semaphore.Weighted
}

func newLimits() *limits {
	return &limits{
		building: semaphore.NewWeighted(maxBuilding), sending: semaphore.NewWeighted(maxSending), strangers: semaphore.NewWeighted(maxStrangers),
		users: cache.NewLRUExpireCache(maxKeys), addresses: cache.NewLRUExpireCache(maxKeys),
	}
}

// user returns the limits of a user.
func (l *limits) user(name string) *user {
	return entry(l, l.users, name, func() *user {
		return &user{rate.NewLimiter(userRate, userBurst), semaphore.NewWeighted(maxUserAnswers), semaphore.NewWeighted(maxUserSending)}
	})
}

// stranger waits until a request with an unknown token may be reviewed. The caller calls refused if
// the token is rejected, and end in any case.
func (l *limits) stranger(r *http.Request) (end, refused func(), err error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	from := entry(l, l.addresses, host, func() *origin {
		return &origin{rate.NewLimiter(failureRate, failureBurst), semaphore.NewWeighted(maxTrying)}
	})
	own, ok := turn(r.Context(), from.trying, 1)
	if !ok {
		return nil, nil, errBusy
	}
	if from.refused.Tokens() < 1 {
		own()
		return nil, nil, errTooMany
	}
	all, ok := turn(r.Context(), l.strangers, 1)
	if !ok {
		own()
		return nil, nil, errBusy
	}
	return func() { all(); own() }, func() { from.refused.Allow() }, nil
}

// entry returns the cached value, or creates it.
func entry[T any](l *limits, in *cache.LRUExpireCache, key string, make func() T) T {
	l.creating.Lock()
	defer l.creating.Unlock()
	if cached, ok := in.Get(key); ok {
		if e, ok := cached.(T); ok {
			return e
		}
	}
	e := make()
	in.Add(key, e, keepFor)
	return e
}

// turn acquires n of a semaphore. end releases them.
func turn(ctx context.Context, of *semaphore.Weighted, n int64) (end func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	if of.Acquire(ctx, n) != nil {
		return nil, false
	}
	return sync.OnceFunc(func() { of.Release(n) }), true
}
