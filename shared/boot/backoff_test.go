// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// However long an outage lasts, what failed is tried again within half a minute of
// its end.
func TestBackoff(t *testing.T) {
	limiter := Backoff()
	var request reconcile.Request
	if first := limiter.When(request); first > 10*time.Millisecond {
		t.Errorf("the first failure waits %s", first)
	}
	var before time.Duration
	for range 100 {
		wait := limiter.When(request)
		if wait < before || wait > 30*time.Second {
			t.Fatalf("a failure waits %s after %s", wait, before)
		}
		before = wait
	}
	if before != 30*time.Second {
		t.Errorf("the longest wait is %s", before)
	}
	limiter.Forget(request)
	if again := limiter.When(request); again > 10*time.Millisecond {
		t.Errorf("a failure after a success waits %s", again)
	}
}
