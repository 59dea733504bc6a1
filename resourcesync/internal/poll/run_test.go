// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

func TestBatches_failIndependently(t *testing.T) {
	in(t, func(w *world) {
		w.poller.Options.BatchSize = 1
		w.bent = func(clusters []string, _ *search.Result) error {
			if slices.Contains(clusters, "c2") {
				return &search.Error{Kind: search.KindTimeout}
			}
			return nil
		}
		w.apps["c1"]["app"] = append(w.apps["c1"]["app"], "Secret/s")
		w.apps["c2"]["app"] = append(w.apps["c2"]["app"], "Secret/s")
		w.polls(3)
		w.expect("one half is new, the other dated", map[string]row{"c1/app": {ab + "Secret/s ", fresh}, "c2/app": {ab, 40 * time.Second}})
	})
}

func TestRetry_repeatsTransientFailuresOnly(t *testing.T) {
	in(t, func(w *world) {
		failures := 2
		w.bent = func([]string, *search.Result) error {
			if failures--; failures >= 0 {
				return &search.Error{Kind: search.KindStatement}
			}
			return nil
		}
		w.poll()
		w.expect("the third try is good", both(ab, fresh))
	})
	in(t, func(w *world) {
		w.down = &search.Error{Kind: search.KindUnauthenticated}
		asked := w.asked
		w.poll()
		if w.asked != asked {
			t.Errorf("a refused token was repeated %d times", w.asked-asked)
		}
	})
}

func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.poller.Options.BatchSize = 3
		w.view.Clusters, w.apps = nil, map[string]map[string][]string{}
		for i := range 20 {
			c := fmt.Sprintf("c%02d", i)
			w.view.Clusters = append(w.view.Clusters, c)
			w.apps[c] = map[string][]string{"app": {"ConfigMap/a"}}
		}
		w.view.Clusters = append(w.view.Clusters, "without")
		w.poll()
		if got := len(w.rows()); got != 20 {
			t.Errorf("%d rows", got)
		}
		if w.asked != 7 {
			t.Errorf("%d requests, want 7", w.asked)
		}
		w.poll()
		if w.asked != 14 || w.most != inFlight {
			t.Errorf("%d requests, %d at once; want 14, two at a time", w.asked, w.most)
		}
		w.bent = func(clusters []string, _ *search.Result) error {
			if len(clusters) > 1 {
				return &search.Error{Kind: search.KindTooLarge}
			}
			return nil
		}
		w.poll()
		for key, row := range w.rows() {
			if row.age != fresh {
				t.Errorf("%s is stale, although halves would fit", key)
			}
		}
	})
}

func TestReports_followApplicationSets(t *testing.T) {
	in(t, func(w *world) {
		w.view.Sets = map[intermediate.Key]bool{}
		w.poll()
		if _, err := w.store.Read(setKey.Namespace, setKey.Name); !errors.Is(err, intermediate.ErrNone) {
			t.Errorf("the file of a gone ApplicationSet: %v", err)
		}
		w.view.Sets = map[intermediate.Key]bool{setKey: true}
		w.poll()
		w.expect("made again", both(ab, fresh))
	})
}

func TestReports_replaceADamagedFile(t *testing.T) {
	in(t, func(w *world) {
		damage(t, w)
		w.restart()
		w.down = &search.Error{Kind: search.KindUnreachable}
		w.poll()
		if _, err := w.store.Read(setKey.Namespace, setKey.Name); err == nil {
			t.Error("a report was made up while search was silent")
		}
		w.down = nil
		w.poll()
		w.expect("replaced", both(ab, fresh))
	})
}

func TestReports_rewriteARemovedFile(t *testing.T) {
	in(t, func(w *world) {
		if err := w.store.Remove(setKey.Namespace, setKey.Name); err != nil {
			t.Fatal(err)
		}
		w.poll()
		w.expect("back", both(ab, fresh))
	})
}

func damage(t *testing.T, w *world) {
	t.Helper()
	path := fmt.Sprintf("%s/%s_%s.json", w.dir, setKey.Namespace, setKey.Name)
	if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
}

type fullDisk struct{ *intermediate.Store }

func (fullDisk) Write(*intermediate.Report) error { return errors.New("no space left on device") }

func TestReports_retryFailedWrites(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = append(w.apps["c1"]["app"], "Secret/s")
		w.poller.reports.files = fullDisk{w.store}
		w.logs = nil
		w.poll()
		w.poll()
		w.expect("the last good report stays", both(ab, fresh))
		if len(w.logs) != 1 || !strings.Contains(w.logs[0], "no space left") {
			t.Errorf("said %q", w.logs)
		}
		w.poller.reports.files = w.store
		w.poll()
		want := both(ab, fresh)
		want["c1/app"] = row{ab + "Secret/s ", fresh}
		w.expect("written when there is room", want)
	})
}

func TestStart_waitsForASearchService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.down = &search.Error{Kind: search.KindAbsent}
		done := make(chan error)
		w.stop() // Start begins with a new state
		go func() { done <- w.poller.Start(ctx) }()
		clock.Sleep(ctx, time.Hour)
		w.with(func() {
			if len(w.logs) != 1 || !strings.Contains(w.logs[0], "no search service") {
				t.Errorf("said %q", w.logs)
			}
			w.down = nil
		})
		if keys, _ := w.store.List(); len(keys) != 0 {
			t.Errorf("wrote %v", keys)
		}
		clock.Sleep(ctx, 2*time.Minute)
		w.expect("starts by itself", both(ab, fresh))
		gauge(t, "interval", searchInterval, w.poller.Options.Interval.Seconds())
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestPoll_concludesNothingIfStopped(t *testing.T) {
	in(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		w.bent = func([]string, *search.Result) error { cancel(); return context.Canceled }
		w.poller.poll(ctx)
		w.bent = nil
		w.expect("nothing was concluded", both(ab, fresh))
	})
}
