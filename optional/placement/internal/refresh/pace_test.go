// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"testing"
	"time"
)

// A process that starts with many ApplicationSets refreshes them at a limited rate. If the decisions of one
// change meanwhile, that one is refreshed at once.
func TestWaitForTurn(t *testing.T) {
	const others = 1000
	start := time.Unix(1_000_000, 0)
	r := &Reconciler{}
	look := func(s *state, of digest, after time.Duration) time.Duration {
		now := start.Add(after)
		return max(s.wait(of, now), r.waitForTurn(s, now))
	}
	for range others {
		look(&state{}, digest{1}, 0)
	}
	s := &state{}
	if wait := look(s, digest{1}, 0); wait != others*pace {
		t.Errorf("it waits for %s, want %s", wait, others*pace)
	}
	if wait := look(s, digest{1}, time.Minute); wait != others*pace-time.Minute {
		t.Errorf("unchanged it waits for %s more, want %s", wait, others*pace-time.Minute)
	}
	look(s, digest{2}, time.Minute)
	if wait := look(s, digest{2}, time.Minute+quiet); wait > 0 {
		t.Errorf("with other decisions it waits for %s more", wait)
	}
}
