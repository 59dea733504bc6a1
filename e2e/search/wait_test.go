// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"testing"
	"time"
)

// patience is how long a busy machine may take for anything.
const patience = 2 * time.Minute

// eventually waits until done, and fails the test with the name of what it
// waited for.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}
