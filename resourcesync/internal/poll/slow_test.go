// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// slow is a search service that delays requests with one of some clusters, and then answers or fails.
type slow struct {
	*world
	clusters map[string]bool
	takes    time.Duration
	err      error
}

func (s *slow) Applications(ctx context.Context, clusters []string, last search.Digest) (*search.Result, error) {
	if slices.ContainsFunc(clusters, func(c string) bool { return s.clusters[c] }) {
		clock.Sleep(ctx, s.takes)
		if ctx.Err() != nil {
			return nil, &search.Error{Kind: search.KindTimeout}
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	return s.world.Applications(ctx, clusters, last)
}

// newSlowWorld returns a polled fleet of n clusters. From now on, one of each group of this size is slow.
func newSlowWorld(t *testing.T, n, each int, takes time.Duration, err error) *slow {
	w := newWorld(t)
	w.view.Clusters, w.apps = nil, map[string]map[string][]string{}
	w.grow(n)
	w.polls(3)
	s := &slow{world: w, clusters: map[string]bool{}, takes: takes, err: err}
	for i, c := range w.view.Clusters {
		if i%each == each/2 {
			s.clusters[c] = true
		}
	}
	w.poller.Search = s
	return s
}

// pollFor polls for a duration, with the pauses of Start.
func (s *slow) pollFor(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
		started := time.Now()
		s.poller.poll(s.t.Context())
		clock.Sleep(s.t.Context(), max(pollGap, time.Until(started.Add(10*time.Second))))
	}
}

// latency changes a cluster and returns the time until the report shows the change.
func (s *slow) latency(cluster string) time.Duration {
	s.with(func() {
		s.apps[cluster]["app"] = append(s.apps[cluster]["app"], fmt.Sprintf("Secret/%d", time.Now().Unix()))
	})
	want := len(s.apps[cluster]["app"])
	changed := time.Now()
	for time.Since(changed) < time.Hour {
		s.pollFor(time.Second)
		r, err := s.store.Read(setKey.Namespace, setKey.Name)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, a := range r.Applications {
			if a.Cluster == cluster && len(a.Resources) == want {
				return time.Since(changed)
			}
		}
	}
	return time.Hour
}

func (s *slow) wellAndStale() (stale []string) {
	for _, key := range s.stale() {
		if c, _, _ := strings.Cut(key, "/"); !s.clusters[c] {
			stale = append(stale, key)
		}
	}
	return stale
}

// If one cluster in each batch fails, the other clusters stay fresh, however long a failure takes.
func TestPoll_isolatesASlowClusterInEachBatch(t *testing.T) {
	for _, takes := range []time.Duration{time.Second, 30 * time.Second} {
		for _, kind := range []search.Kind{search.KindTimeout, search.KindTooLarge} {
			t.Run(fmt.Sprintf("%s after %s", kind, takes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSlowWorld(t, 400, 50, takes, &search.Error{Kind: kind})
					for range 60 { // includes the first poll
						s.pollFor(time.Second)
						if got := s.wellAndStale(); len(s.clusters) != 8 || len(got) != 0 {
							t.Fatalf("%d clusters that search answers for are stale: %s", len(got), names(got))
						}
					}
					if got := s.stale(); len(got) != 8 {
						t.Errorf("%d clusters are stale, want 8", len(got))
					}
					if got := s.latency("n001"); got > 15*time.Second {
						t.Errorf("a change on another cluster takes %s", got)
					}
				})
			})
		}
	}
}

// For twenty seconds search cuts the answers of batches, or all answers. Two polls later no cluster is
// stale or suspect.
func TestPoll_cutAnswersAreForgottenWithinTwoPolls(t *testing.T) {
	for name, longest := range map[string]int{"answers of batches": 10, "all answers": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowWorld(t, 500, 1000, 0, nil)
				began := time.Now()
				s.bent = func(clusters []string, _ *search.Result) error {
					if len(clusters) > longest && time.Since(began) < 20*time.Second {
						return &search.Error{Kind: search.KindIncomplete, Detail: "the answer breaks off"}
					}
					return nil
				}
				s.pollFor(20 * time.Second)
				asked := s.asked
				s.poll()
				s.poll()
				if got := s.stale(); len(got) != 0 {
					t.Errorf("%d clusters are stale two polls after the service is well", len(got))
				}
				if got := s.asked - asked; got > 2*10 {
					t.Errorf("%d requests in two polls of ten batches", got)
				}
				gauge(t, "requested alone", clusterStates.WithLabelValues("suspect"), 0)
				for c, st := range s.poller.state.clusters {
					if time.Since(st.readAt) > 10*time.Second {
						t.Fatalf("%s was read %s ago", c, time.Since(st.readAt))
					}
				}
			})
		})
	}
}

// Slow clusters are requested separately, so the other clusters are read in each poll.
func TestPoll_slowClustersDoNotDelayOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		n, each int
		takes   time.Duration
		err     error
	}{
		"a tenth of the batches times out":         {400, 100, 30 * time.Second, &search.Error{Kind: search.KindTimeout}},
		"every batch times out":                    {400, 50, 30 * time.Second, &search.Error{Kind: search.KindTimeout}},
		"one batch of three is slow":               {150, 150, 25 * time.Second, nil},
		"the only batch is slow, for all together": {40, 40, 25 * time.Second, nil},
		"HTTP 500 for one cluster":                 {100, 100, 0, &search.Error{Kind: search.KindStatus, Status: http.StatusInternalServerError}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowWorld(t, tc.n, tc.each, tc.takes, tc.err)
				s.pollFor(15 * time.Minute)
				if got := s.wellAndStale(); len(got) != 0 {
					t.Errorf("stale: %s", names(got))
				}
				for _, c := range []string{"n001", fmt.Sprintf("n%03d", tc.each/2+1)} { // and another cluster of a slow batch
					if got := s.latency(c); got > 15*time.Second {
						t.Errorf("a change on %s takes %s", c, got)
					}
				}
				if tc.err == nil {
					if got := s.stale(); len(got) != 0 {
						t.Errorf("stale although answers come: %s", names(got))
					}
				}
				if s.most > inFlight {
					t.Errorf("%d answers at once", s.most)
				}
			})
		})
	}
}

// A poll writes the clusters that it has read while it waits for the others.
func TestPoll_writesWhatIsReadWhileOthersAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowWorld(t, 400, 100, 30*time.Second, &search.Error{Kind: search.KindTimeout})
		s.apps["n001"]["app"] = append(s.apps["n001"]["app"], "Secret/new")
		done := make(chan struct{})
		go func() { s.poller.poll(t.Context()); close(done) }()
		clock.Sleep(t.Context(), 45*time.Second)
		select {
		case <-done:
			t.Fatal("the poll is over")
		default:
		}
		if got := s.rows()["n001/app"].objects; got != "ConfigMap/a Secret/new " {
			t.Errorf("not written: %s", got)
		}
		<-done
	})
}

// A poll is no success if half of the fleet has answers without relations.
func TestPoll_manyUnreadClustersAreNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(98)
		w.poller.Options.BatchSize = 10
		w.bent = func(clusters []string, r *search.Result) error {
			if clusters[0] >= "n048" {
				r.Related = nil
			}
			return nil
		}
		lastSuccess.Set(0)
		w.polls(3)
		gauge(t, "unread", clusterStates.WithLabelValues("unread"), 50)
		gauge(t, "last success", lastSuccess, 0)
		if !contains(w.problems, "50 of 100 clusters") {
			t.Errorf("logged %q", w.problems)
		}
		w.bent = nil
		w.polls(6)
		if w.poller.changes[subjectFailure] != "" {
			t.Errorf("a good poll fails: %s", w.poller.changes[subjectFailure])
		}
	})
}

// On a hub with few clusters, a poll is a success if fewer than half of them fail, or one of two.
func TestPoll_halfOfAFewUnreadIsNoSuccess(t *testing.T) {
	for name, test := range map[string]struct {
		unread  int
		success bool
	}{
		"one of two":  {1, true},
		"two of six":  {2, true},
		"half of six": {3, false},
		"all of six":  {6, false},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				if name != "one of two" {
					w.grow(4)
					w.poll()
				}
				failing := slices.Sorted(maps.Keys(w.apps))[:test.unread]
				w.bent = func(clusters []string, _ *search.Result) error {
					if slices.ContainsFunc(clusters, func(c string) bool { return slices.Contains(failing, c) }) {
						return &search.Error{Kind: search.KindTooLarge}
					}
					return nil
				}
				w.polls(40) // until the visible clusters are read again
				lastSuccess.Set(0)
				w.poll()
				if got := testutil.ToFloat64(lastSuccess) > 0; got != test.success {
					t.Errorf("success %v, want %v; logged %q", got, test.success, w.problems)
				}
			})
		})
	}
}

// While the hub's clusters cannot be listed, the poller does not request search, and the reports become
// stale.
func TestPoll_unlistedHubDatesReports(t *testing.T) {
	in(t, func(w *world) {
		w.viewed = errors.New("no")
		w.polls(2)
		w.expect("two polls are not worth writing every report twice", both(ab, fresh))
		w.poll()
		w.expect("three are", both(ab, 40*time.Second))
		w.viewed = nil
		w.poll()
		w.expect("back", both(ab, fresh))
	})
}
