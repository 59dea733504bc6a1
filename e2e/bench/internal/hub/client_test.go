// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestParallel_callsEachIndexOnce(t *testing.T) {
	var done [1000]atomic.Int32
	if err := Parallel(t.Context(), len(done), func(_ context.Context, i int) error { done[i].Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range done {
		if n := done[i].Load(); n != 1 {
			t.Errorf("%d was done %d times", i, n)
		}
	}
}

func TestParallel_stopsAtTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	var calls atomic.Int32
	err := Parallel(t.Context(), 1_000_000, func(context.Context, int) error { calls.Add(1); return broken })
	if !errors.Is(err, broken) || calls.Load() > Workers {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Parallel(ctx, 10, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestClient_returnsErrorsAndEvents(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/refused":
			http.Error(w, "no room", http.StatusConflict)
		case r.URL.Query().Get("watch") == "1":
			_, _ = io.WriteString(w, `{"type":"MODIFIED","object":{"v":"`+r.URL.Query().Get("resourceVersion")+`"}}`+"\n")
		default:
			_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"7"}}`)
		}
	}))
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), "/refused", nil); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("a refusal is %v", err)
	}
	seen := make(chan Event, 1)
	ended, err := c.Watch(t.Context(), "/things", func(e Event, _ time.Time) { seen <- e })
	if err != nil {
		t.Fatal(err)
	}
	if e := <-seen; e.Type != "MODIFIED" || string(e.Object) != `{"v":"7"}` {
		t.Errorf("the watch does not go on from the list: %s", e.Object)
	}
	if err := <-ended; err == nil {
		t.Error("a watch that the server ended says nothing")
	}
}
