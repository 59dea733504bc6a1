// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Patience is how long [Eventually] waits before it gives up. It is long because the machine
	// may be busy. A passing test never waits so long.
	Patience = 2 * time.Minute
	pause    = 20 * time.Millisecond
)

// WaitFor calls check at once, and then at intervals until it returns nil. If ctx ends or the time
// is over, the error has what, why the wait ended, and the last result of check.
func WaitFor(ctx context.Context, patience, every time.Duration, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	last := errors.New("nothing")
	err := wait.PollUntilContextCancel(ctx, every, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err != nil && ctx.Err() == nil {
			last = err // a cancelled check has no new result
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w; last seen: %w", what, context.Cause(ctx), last)
	}
	return nil
}

// Eventually waits until check returns nil, and fails the test if that takes too long. Cleanup
// functions of a test may call it.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	eventually(t, Patience, pause, what, check)
}

func eventually(t testing.TB, patience, every time.Duration, what string, check func() error) {
	t.Helper()
	if err := WaitFor(context.Background(), patience, every, what, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}

var errNotYet = errors.New("it is not so yet")

// Until is [Eventually] for a check without details.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Eventually(t, what, func() error {
		if !holds() {
			return errNotYet
		}
		return nil
	})
}

// Edit reads an object, changes it and writes it back. It repeats this after a conflict.
func Edit[T client.Object](t testing.TB, c client.Client, o T, change func(T)) {
	t.Helper()
	edit(t, c, o, change, func(o T) error { return c.Update(context.Background(), o) })
}

// EditStatus is [Edit] for a status subresource.
func EditStatus[T client.Object](t testing.TB, c client.Client, o T, change func(T)) {
	t.Helper()
	edit(t, c, o, change, func(o T) error { return c.Status().Update(context.Background(), o) })
}

func edit[T client.Object](t testing.TB, c client.Client, o T, change func(T), write func(T) error) {
	t.Helper()
	for {
		if err := c.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatalf("get %T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
		}
		change(o)
		err := write(o)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			t.Fatalf("write %T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
		}
		return
	}
}

// CountWrites returns a copy of config that counts writing requests, without Events.
func CountWrites(config *rest.Config) (*rest.Config, *atomic.Int64) {
	writes := &atomic.Int64{}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return writeCounter{next, writes} })
	return config, writes
}

type writeCounter struct {
	next   http.RoundTripper
	writes *atomic.Int64
}

// RoundTrip implements [http.RoundTripper].
func (c writeCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
		c.writes.Add(1)
	}
	return c.next.RoundTrip(r)
}

// Run starts mgr, waits for its caches, and returns a function that stops it. At the latest it
// stops with the test.
func Run(t testing.TB, mgr ctrl.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("manager: %v", err)
		}
	})
	t.Cleanup(stop)
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("caches did not sync")
	}
	return stop
}
