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
	// user's pages again asks for all of them and their styles in one moment.
	userRate  = 20
	userBurst = 60
	// Refused tokens a second of one address, and how many at once.
	failureRate  = 5
	failureBurst = 20
	// maxStrangers is how many tokens that were never accepted are reviewed at once,
	// maxTrying how many of one address.
	maxStrangers = 8
	maxTrying    = 4
	// maxKeys is how many users, and how many addresses, are remembered.
	maxKeys = 1000
	// keepFor is how long; a limiter is full again long before.
	keepFor = time.Hour
	// maxBuilding is how many answers are made at once, maxUserAnswers how many of one user are
	// made or sent. maxSending is how many bytes wait for their readers, maxUserSending how
	// many of one user.
	maxBuilding    = 4
	maxUserAnswers = 4
	maxSending     = 16 << 20
	maxUserSending = 4 << 20
	// turnTimeout is how long a request waits for its turn.
	turnTimeout = 10 * time.Second
)

// limits bound what requests cost. A user's never depend on those of others, but for memory.
type limits struct {
	building, sending, strangers *semaphore.Weighted
	users                        *cache.LRUExpireCache // *user by name
	addresses                    *cache.LRUExpireCache // *origin by address
}

// user is one viewer, by name.
type user struct {
	requests         *rate.Limiter
	answers, sending *semaphore.Weighted
}

// origin is where requests of strangers come from.
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

// user returns what bounds a user's requests.
func (l *limits) user(name string) *user {
	return entry(l.users, name, func() *user {
		return &user{rate.NewLimiter(userRate, userBurst), semaphore.NewWeighted(maxUserAnswers), semaphore.NewWeighted(maxUserSending)}
	})
}

// stranger waits for the turn of a request with a token that was never accepted; refused is
// to be called when it is not accepted, and end in any case.
func (l *limits) stranger(r *http.Request) (end, refused func(), err error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	from := entry(l.addresses, host, func() *origin {
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
