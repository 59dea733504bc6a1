// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestPaceWait(t *testing.T) {
	pace := Pace{Min: 100 * time.Millisecond, Max: 700 * time.Millisecond}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		why  string
		last history
		want time.Duration
	}{
		"never written":    {"a new report is small until it is written", history{}, 100 * time.Millisecond},
		"alone, small":     {"a lone change of a small report shows almost at once", history{written: now.Add(-time.Hour)}, 100 * time.Millisecond},
		"alone, half full": {"the larger the report, the longer a change waits for others", history{written: now.Add(-time.Hour), fullness: .5}, 400 * time.Millisecond},
		"alone, full":      {"a lone change always shows within a second", history{written: now.Add(-time.Hour), fullness: 1}, 700 * time.Millisecond},
		"alone, overfull":  {"a report is never more than full", history{written: now.Add(-time.Hour), fullness: 3}, 700 * time.Millisecond},
		"follows a write":  {"changes that follow each other share writes", history{written: now.Add(-time.Second)}, 700 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pace.wait(test.last, now); got != test.want {
				t.Errorf("%s: %s, want %s", test.why, got, test.want)
			}
		})
	}
}

// play plays changes at a steady rate, each write as soon as it is due, on a clock
// of its own. It returns the number of writes and the longest that a change waited.
func play(changes int, every time.Duration, fullness float64) (writes int, longest time.Duration) {
	key := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := newPacer(Pace{Min: 100 * time.Millisecond, Max: 750 * time.Millisecond})
	p.now = func() time.Time { return now }
	p.sized(key, fullness)
	var look time.Time // when the queue hands the report out; zero: it is not in the queue
	until := func(end time.Time) {
		for !look.IsZero() && look.Before(end) {
			now = look
			b, wait := p.take(key)
			if wait > 0 {
				look = now.Add(wait)
				continue
			}
			look = time.Time{}
			writes++
			longest = max(longest, now.Sub(b.first))
			p.written(key)
		}
	}
	start := now
	for i := range changes {
		at := start.Add(time.Duration(i) * every)
		until(at)
		now = at
		if wait, first := p.changed(key); first {
			look = now.Add(wait)
		}
	}
	until(now.Add(time.Hour))
	return writes, longest
}

func TestPacerBoundsWrites(t *testing.T) {
	for name, test := range map[string]struct {
		why     string
		changes int
		every   time.Duration
		full    float64
		writes  int
		longest time.Duration
	}{
		"storm of 500 in half a second": {"all at once is one write", 500, time.Millisecond, .1, 1, 900 * time.Millisecond},
		"storm of 500 in 2.5 seconds":   {"as fast as a server takes them", 500, 5 * time.Millisecond, .1, 3, 3 * time.Second},
		"storm of 500 in 5 seconds":     {"a slow server", 500, 10 * time.Millisecond, .1, 4, 3 * time.Second},
		"storm on a full report":        {"fewer writes the larger the report", 500, 5 * time.Millisecond, 1, 1, 3 * time.Second},
		"storm without end":             {"the report still moves every three seconds", 10_000, 10 * time.Millisecond, .1, 36, 3 * time.Second},
		"five a second in one report":   {"steady changes are seen within the second", 100, 200 * time.Millisecond, .5, 26, 750 * time.Millisecond},
		"lone changes, small report":    {"are seen at once", 10, 5 * time.Second, .01, 10, 110 * time.Millisecond},
		"lone changes, full report":     {"are seen within the second", 10, 5 * time.Second, 1, 10, 750 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			writes, longest := play(test.changes, test.every, test.full)
			if writes > test.writes || longest > test.longest {
				t.Errorf("%s: %d writes, longest wait %s; want at most %d and %s", test.why, writes, longest, test.writes, test.longest)
			}
		})
	}
}

func TestPacerKeepsWhatFailed(t *testing.T) {
	key := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := newPacer(Pace{Min: time.Second, Max: time.Second})
	p.now = func() time.Time { return now }
	first := now
	p.changed(key)
	if _, wait := p.take(key); wait != time.Second {
		t.Fatalf("a change is due in %s, want 1s", wait)
	}
	now = now.Add(time.Second)
	b, _ := p.take(key)
	if b.changes != 1 {
		t.Fatalf("%d changes are due, want 1", b.changes)
	}
	p.changed(key) // one more while the write is under way
	p.failed(key, b)
	b, wait := p.take(key)
	if b.changes != 2 || wait != 0 || !b.first.Equal(first) {
		t.Errorf("after a failure %d changes are due in %s, first of %s; want both, at once, and the time of the first", b.changes, wait, b.first)
	}
	p.forget(key)
	if b, _ := p.take(key); b.changes != 0 {
		t.Error("a report that is forgotten still has changes")
	}
}
