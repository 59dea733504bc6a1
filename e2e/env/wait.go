// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	// Patience is the default limit of a wait. It is long, because it only limits failures and is no
	// statement about speed.
	Patience = 4 * time.Minute
	pause    = 50 * time.Millisecond
)

// Wait calls probe repeatedly until it returns done. saw describes the state. After [Patience] it returns an
// error with what and the last state.
func Wait(ctx context.Context, what string, probe func(context.Context) (done bool, saw string)) error {
	return WaitFor(ctx, Patience, what, probe)
}

// WaitFor is [Wait] with another limit.
func WaitFor(ctx context.Context, patience time.Duration, what string, probe func(context.Context) (done bool, saw string)) error {
	return testkit.WaitFor(ctx, patience, pause, what, func(ctx context.Context) error {
		done, saw := probe(ctx)
		if done {
			return nil
		}
		return errors.New(saw)
	})
}

// Await is [Wait] in a test. The test fails if Wait returns an error.
func Await(t testing.TB, what string, probe func(context.Context) (done bool, saw string)) {
	t.Helper()
	if err := Wait(t.Context(), what, probe); err != nil {
		t.Fatal(err)
	}
}
