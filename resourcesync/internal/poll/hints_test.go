// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

func TestHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs []string
		calls := 0
		h := NewHints(func(_ context.Context, changed func()) error {
			switch calls++; calls {
			case 1: // a burst is one hint
				for range 100 {
					changed()
				}
				<-time.After(time.Minute)
				return nil
			default:
				return &search.Error{Kind: search.KindUnreachable}
			}
		}, funcr.New(func(_, args string) { logs = append(logs, args) }, funcr.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.Start(ctx) }()
		woken := func() (n int) {
			for {
				select {
				case <-h.Wake:
					n++
				default:
					return n
				}
			}
		}
		sleep(ctx, time.Second)
		if n := woken(); n != 1 {
			t.Errorf("a burst woke %d times", n)
		}
		sleep(ctx, time.Hour)
		if n := woken(); n != 1 {
			t.Errorf("the end of a subscription woke %d times, failures must not wake at all", n)
		}
		cancel()
		if err := <-done; err != nil { // and what it counted may be read
			t.Error(err)
		}
		if calls < 30 || calls > 130 {
			t.Errorf("%d connections in an hour without a server", calls)
		}
		if len(logs) != 1 || !strings.Contains(logs[0], "cannot be watched") {
			t.Errorf("said %q", logs)
		}
	})
}
