// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitFor(t *testing.T) {
	stopped := errors.New("the fleet stopped")
	cases := map[string]struct {
		reason string
		check  func(calls int, ctx context.Context, end func()) error
		calls  int
		says   []string // parts of the error, empty for no error
	}{
		"holds at once": {
			reason: "nobody waits for what is there already",
			check:  func(int, context.Context, func()) error { return nil },
			calls:  1,
		},
		"holds later": {
			reason: "it asks again until it holds",
			check: func(calls int, _ context.Context, _ func()) error {
				if calls < 3 {
					return errors.New("not yet")
				}
				return nil
			},
			calls: 3,
		},
		"never holds": {
			reason: "who reads the failure learns what was waited for, for how long, and how far it came",
			check:  func(int, context.Context, func()) error { return errors.New("2 of 3 are there") },
			calls:  10,
			says:   []string{"wait for three of them", "not within 10s", "last seen: 2 of 3 are there"},
		},
		"is stopped": {
			reason: "a check that was cut off says nothing of what was waited for",
			check: func(calls int, ctx context.Context, end func()) error {
				if calls < 2 {
					return errors.New("1 of 3 are there")
				}
				end()
				return ctx.Err()
			},
			calls: 2,
			says:  []string{"wait for three of them", stopped.Error(), "last seen: 1 of 3 are there"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				calls := 0
				err := WaitFor(ctx, 10*time.Second, time.Second+time.Millisecond, "three of them", func(ctx context.Context) error {
					calls++
					return c.check(calls, ctx, func() { end(stopped) })
				})
				if calls != c.calls {
					t.Errorf("%s: it was looked at %d times, want %d", c.reason, calls, c.calls)
				}
				if (err != nil) != (len(c.says) > 0) {
					t.Fatalf("%s: error %v", c.reason, err)
				}
				for _, part := range c.says {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%s: the error does not say %q: %v", c.reason, part, err)
					}
				}
			})
		})
	}
}
