// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestWait(t *testing.T) {
	const interval = 700 * time.Millisecond
	limits := Limits{Interval: interval}
	now := noon
	for name, test := range map[string]struct {
		why  string
		last history
		want time.Duration
	}{
		"never written":   {"of a new report nothing is known", history{}, 100 * time.Millisecond},
		"alone":           {"a lone change shows almost at once", history{writtenAt: now.Add(-time.Hour)}, 100 * time.Millisecond},
		"alone again":     {"also after many", history{writtenAt: now.Add(-time.Hour), distance: 2800 * time.Millisecond}, 100 * time.Millisecond},
		"follows at once": {"changes that follow each other share writes", history{writtenAt: now, distance: interval}, 700 * time.Millisecond},
		"follows":         {"the time since the last write counts", history{writtenAt: now.Add(-500 * time.Millisecond), distance: interval}, 200 * time.Millisecond},
		"follows late":    {"but a change is never written without waiting for others", history{writtenAt: now.Add(-650 * time.Millisecond), distance: interval}, 100 * time.Millisecond},
		"slow":            {"a busy server gets no write for as long as the last one lasted", history{writtenAt: now.Add(-time.Second), latency: time.Second, latencyBefore: time.Second}, time.Second},
		"slow once":       {"one slow write met a pause of the server", history{writtenAt: now, distance: interval, latency: time.Second, latencyBefore: time.Millisecond}, 700 * time.Millisecond},
		"quick again":     {"one quick write is enough to go on", history{writtenAt: now, distance: interval, latency: time.Millisecond, latencyBefore: time.Second}, 700 * time.Millisecond},
		"stuck":           {"but not for longer than in a storm", history{writtenAt: now, latency: time.Minute, latencyBefore: time.Minute}, 30 * 700 * time.Millisecond},
		"quick":           {"a quick write changes nothing", history{writtenAt: now, distance: interval, latency: time.Millisecond}, 700 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			if got := limits.wait(test.last, now); got != test.want {
				t.Errorf("%s: %s, want %s", test.why, got, test.want)
			}
		})
	}
}

func TestPacer_timesWrites(t *testing.T) {
	key := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	now := noon
	p := New(Limits{Interval: time.Second})
	write := func(took time.Duration) {
		wait, _ := p.Changed(key, now)
		now = now.Add(wait)
		b, _ := p.Take(key, now)
		now = now.Add(took)
		p.Written(key, b, now)
	}
	next := func() time.Duration {
		wait, _ := p.Changed(key, now)
		return wait
	}
	write(2 * time.Second)
	write(3 * time.Second)
	if wait := next(); wait != time.Second {
		t.Errorf("after writes of 2s and 3s a change waits for %s, want 1s, since writes of 2s begin 4s apart", wait)
	}
	p.Forget(key)
	write(10 * time.Millisecond)
	now = now.Add(time.Hour)
	b, _ := p.Take(key, now) // aggregation repairs an edited report, without a change on the hub
	p.Written(key, b, now)
	wait := next()
	if wait != 100*time.Millisecond {
		t.Errorf("after a write that carried nothing a change waits for %s, want the least", wait)
	}
	now = now.Add(wait)
	p.Take(key, now)
	if wait := next(); wait != time.Second {
		t.Errorf("while the next write is under way a change waits for %s, want the usual distance", wait)
	}
}

func TestPacer_keepsFailedChanges(t *testing.T) {
	key := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	now := noon
	p := New(Limits{Interval: time.Second})
	first := now
	p.Changed(key, now)
	if _, wait := p.Take(key, now); wait != Delay {
		t.Fatalf("a change is due in %s, want %s", wait, Delay)
	}
	now = now.Add(Delay)
	b, _ := p.Take(key, now)
	if b.Changes != 1 {
		t.Fatalf("%d changes are due, want 1", b.Changes)
	}
	p.Changed(key, now) // another change during the write
	p.Failed(key, b, now)
	b, wait := p.Take(key, now)
	if b.Changes != 2 || wait != 0 || !b.First.Equal(first) {
		t.Errorf("after a failure %d changes are due in %s, first of %s; want both, at once, and the time of the first", b.Changes, wait, b.First)
	}
	p.Forget(key)
	if b, _ := p.Take(key, now); b.Changes != 0 {
		t.Error("a report that is forgotten still has changes")
	}
}

// The pacer keeps a running sum of the write times of all waiting reports.
func TestPacer_sumsUpWrites(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	now := noon
	p := New(Limits{Interval: time.Second})
	under := map[types.NamespacedName]Batch{} // the running writes
	for range 5000 {
		key := types.NamespacedName{Name: fmt.Sprint(random.IntN(5))}
		now = now.Add(time.Duration(random.IntN(300)) * time.Millisecond)
		switch random.IntN(6) {
		case 0, 1:
			p.Changed(key, now)
		case 2:
			if b, _ := p.Take(key, now); b.Changes > 0 {
				under[key] = b
			}
		case 3:
			p.Written(key, under[key], now)
			delete(under, key)
		case 4:
			p.Failed(key, under[key], now)
			delete(under, key)
		case 5:
			if random.IntN(5) == 0 {
				p.Forget(key)
				delete(under, key)
			}
		}
		var want time.Duration
		for key := range p.waiting {
			want += p.last[key].latency
		}
		if p.writes != want {
			t.Fatalf("seed %d: the writes of what waits are said to take %s, want %s", seed, p.writes, want)
		}
	}
}

// In a burst, aggregation checks every waiting report each 0.4 seconds.
func BenchmarkTake_inABurst(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := New(Limits{Interval: 500 * time.Millisecond})
			now := noon
			keys := make([]types.NamespacedName, n)
			for i := range keys {
				keys[i] = types.NamespacedName{Namespace: "argocd", Name: fmt.Sprint("set-", i)}
				p.Changed(keys[i], now)
			}
			now = now.Add(600 * time.Millisecond)
			for range 50 {
				p.flood.add(now)
			}
			for b.Loop() {
				for _, key := range keys {
					if _, wait := p.Take(key, now); wait == 0 {
						b.Fatal("a report is due in a storm")
					}
				}
			}
		})
	}
}
