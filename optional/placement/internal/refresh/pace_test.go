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

// Decisions may change after an ApplicationSet has waited long for its turn. An absent cluster then has as much time as
// ever to be back.
func TestWaitForAbsent_afterALongTurn(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	r := &Reconciler{absence: absence}
	s := &state{began: start}
	s.wait(digest{1}, start)
	now := start.Add(2 * most)
	s.absent = map[selection]time.Time{selectionOf("argocd", "many", "moves"): now}
	if wait := max(s.wait(digest{2}, now), r.waitForAbsent(s, now)); wait != absence {
		t.Errorf("it waits for %s, want %s", wait, absence)
	}
	now = now.Add(absence / 2)
	if wait := max(s.wait(digest{3}, now), r.waitForAbsent(s, now)); wait != absence/2 {
		t.Errorf("it waits for %s more, want %s", wait, absence/2)
	}
}
