// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patience is how long [Eventually] waits before it gives up. It is long because
// the machine may be busy; a test that passes never waits for it.
const Patience = 60 * time.Second

// Eventually calls check until it returns nil, and fails the test with the last
// error when that takes too long. what names the wait.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("waited for %s: %v", what, err)
		case <-tick.C:
		}
	}
}

// Edit reads an object, changes it and writes it back, again while it races.
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

// CountWrites returns a copy of config whose requests that change something are
// counted; Events are no change.
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

// Run starts mgr, waits for its caches and returns how to stop it before the
// test ends, when it stops anyway.
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
