// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// grow adds n clusters with one Application each.
func (w *world) grow(n int) {
	for i := range n {
		c := fmt.Sprintf("n%03d", i)
		w.view.Clusters = append(w.view.Clusters, c)
		w.apps[c] = map[string][]string{"app": {"ConfigMap/a"}}
	}
	slices.Sort(w.view.Clusters)
}

// stale returns the stale rows, as "<cluster>/<application>".
func (w *world) stale() (out []string) {
	for key, r := range w.rows() {
		if r.age >= 0 {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func TestPoll_failingClusterDoesNotAffectOthers(t *testing.T) {
	for _, kind := range []search.Kind{search.KindTimeout, search.KindIncomplete, search.KindStatement, search.KindTooLarge, search.KindGraphQL, search.KindMalformed} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.grow(98)
				w.poll()
				w.failingKind(kind, "c2")
				w.polls(4)
				if got := w.stale(); !slices.Equal(got, []string{"c2/app"}) {
					t.Errorf("stale %v", got)
				}
				// A poll requests two batches, and c2 alone once a minute.
				asked := w.asked
				w.polls(12)
				if got := w.asked - asked; got < 12*2+2 || got > 12*3 {
					t.Errorf("%d requests in 12 polls: the next poll begins anew", got)
				}
				if w.poller.changes[subjectFailure] != "" {
					t.Errorf("one cluster makes every poll fail: %s", w.poller.changes[subjectFailure])
				}
				if len(w.problems) != 1 || !contains(w.problems, `"cluster"="c2"`) || !contains(w.problems, "remedy") {
					t.Errorf("said %q", w.problems)
				}
				w.bent = nil
				w.polls(7)
				if got := w.stale(); len(got) != 0 {
					t.Errorf("stale a minute after it is well: %v", got)
				}
				asked = w.asked
				w.poll()
				if got := w.asked - asked; got != 2 || testutil.ToFloat64(clusterStates.WithLabelValues("suspect")) != 0 {
					t.Errorf("%d requests later on, want 2", got)
				}
			})
		})
	}
}

// A request may fail after the poll's interval is over. The same poll still divides its batch.
func TestPoll_slowFailureIsDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(98)
		w.poll()
		w.bent = func(clusters []string, _ *search.Result) error {
			if slices.Contains(clusters, "c2") {
				w.mu.Unlock()
				clock.Sleep(t.Context(), 30*time.Second)
				w.mu.Lock()
				return &search.Error{Kind: search.KindTimeout}
			}
			return nil
		}
		w.polls(9)
		if got := w.stale(); !slices.Equal(got, []string{"c2/app"}) {
			t.Errorf("stale after nine polls: %v", got)
		}
	})
}

// If all requests fail, the poller does not divide batches, because that would only add load.
func TestPoll_outageSendsNoMoreRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(998)
		w.poll()
		w.bent = func([]string, *search.Result) error { return &search.Error{Kind: search.KindStatement} }
		for range 10 {
			asked := w.asked
			w.poll()
			if got := w.asked - asked; got > attempts*(giveUpAfter+1)+outageAfter+inFlight {
				t.Errorf("%d requests of a poll that cannot succeed", got)
			}
		}
		success := testutil.ToFloat64(lastSuccess)
		w.poll()
		gauge(t, "no success", lastSuccess, success)
		w.bent = nil
		asked := w.asked
		w.poll()
		if got := w.asked - asked; got > 30 {
			t.Errorf("%d requests after an outage", got)
		}
		if got := w.stale(); len(got) != 0 {
			t.Errorf("%d clusters are stale after the first good poll", len(got))
		}
	})
}

// If all requests fail on a small fleet, the poller suspects no cluster and requests all of them in each
// poll.
func TestPoll_outageOfASmallFleetEndsAtOnce(t *testing.T) {
	in(t, func(w *world) {
		w.bent = func([]string, *search.Result) error { return &search.Error{Kind: search.KindStatement} }
		success := testutil.ToFloat64(lastSuccess)
		w.polls(60)
		gauge(t, "no success", lastSuccess, success)
		w.bent = nil
		w.poll()
		w.expect("back", both(ab, fresh))
	})
}

func TestPoll_logsATooLargeClusterWithItsRemedy(t *testing.T) {
	in(t, func(w *world) {
		w.failingKind(search.KindTooLarge, "c2")
		w.problems = nil
		w.polls(10)
		if len(w.problems) != 1 || !contains(w.problems, "--search-max-answer") || !contains(w.problems, `"cluster"="c2"`) {
			t.Errorf("said %q", w.problems)
		}
	})
}

// A poll that takes longer than the interval is followed by a pause.
func TestPoll_pausesAfterASlowPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var ends []time.Time
		w.bent = func([]string, *search.Result) error {
			w.mu.Unlock()
			clock.Sleep(t.Context(), 20*time.Second)
			w.mu.Lock()
			return nil
		}
		w.begun = func() { ends = append(ends, time.Now()) }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.stop() // Start begins with a new state
		go func() { _ = w.poller.Start(ctx) }()
		clock.Sleep(ctx, 2*time.Minute)
		w.with(func() {
			if len(ends) < 4 {
				t.Fatalf("%d polls", len(ends))
			}
			for i := 1; i < len(ends); i++ {
				if gap := ends[i].Sub(ends[i-1]); gap < 21*time.Second {
					t.Errorf("poll %d begins %v after the one before, which takes 20 s", i, gap)
				}
			}
		})
	})
}
