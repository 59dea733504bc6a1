// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const ab = "ConfigMap/a ConfigMap/b "

// in runs a test in a synctest bubble, after a first good poll.
func in(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.poll()
		w.expect("settled", both(ab, fresh))
		test(w)
	})
}

func TestPoll_writesNothingIfUnchanged(t *testing.T) {
	in(t, func(w *world) {
		before, _ := w.store.WrittenAt(setKey.Namespace, setKey.Name)
		w.logs = nil
		for range 3 {
			w.poll()
		}
		w.restart()
		w.poll()
		if after, _ := w.store.WrittenAt(setKey.Namespace, setKey.Name); !after.Equal(before) {
			t.Error("a steady fleet was written again")
		}
		if len(w.logs) != 0 {
			t.Errorf("a steady fleet was talked about: %v", w.logs)
		}
	})
}

func TestPoll_showsGrowthAtOnce(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = []string{"ConfigMap/a", "ConfigMap/b", "Secret/s"}
		w.apps["c1"]["more"] = []string{"ConfigMap/a"}
		asked := w.asked
		w.poll()
		w.expect("grown", map[string]row{"c1/app": {ab + "Secret/s ", fresh}, "c1/more": {"ConfigMap/a ", fresh}, "c2/app": {ab, fresh}})
		if w.asked != asked+1 {
			t.Errorf("%d requests", w.asked-asked)
		}
	})
}

func TestPoll_keepsAndDatesReportsDuringAnOutage(t *testing.T) {
	in(t, func(w *world) {
		w.down = &search.Error{Kind: search.KindDatabase}
		w.polls(2)
		w.expect("two polls are not worth writing every report twice", both(ab, fresh))
		w.poll()
		w.expect("three are", both(ab, 40*time.Second))
		w.poll()
		w.expect("the age grows", both(ab, 50*time.Second))
		at, _ := w.store.WrittenAt(setKey.Namespace, setKey.Name)
		w.restart()
		w.poll()
		w.expect("a restart forgets nothing", both(ab, 60*time.Second))
		if after, _ := w.store.WrittenAt(setKey.Namespace, setKey.Name); !after.Equal(at) {
			t.Error("the same staleness was written again")
		}
		w.down = nil
		w.poll()
		w.expect("back", both(ab, fresh))
	})
}

func TestPoll_failuresAreLoggedOnce(t *testing.T) {
	in(t, func(w *world) {
		w.logs = nil
		w.down = &search.Error{Kind: search.KindDatabase}
		w.poll()
		w.poll()
		w.down = nil
		w.poll()
		w.poll()
		if len(w.logs) != 2 || !strings.Contains(w.logs[0], "database") || !strings.Contains(w.logs[1], "search answers again") {
			t.Errorf("said %q", w.logs)
		}
	})
}

func TestPoll_lossIsHeld(t *testing.T) {
	const heldB, heldAll = "ConfigMap/a (ConfigMap/b) ", "(ConfigMap/a) (ConfigMap/b) "
	stale := 40 * time.Second
	tests := []struct {
		name, reason string
		change       func(w *world)
		want         map[string]row
	}{
		{
			"resource deleted", "relations that are cut look the same",
			func(w *world) { w.apps["c1"]["app"] = []string{"ConfigMap/a"} },
			map[string]row{"c1/app": {heldB, fresh}, "c2/app": {ab, fresh}},
		},
		{
			"application deleted", "rows that are cut look the same",
			func(w *world) { delete(w.apps, "c1") },
			map[string]row{"c1/app": {heldAll, 20 * time.Second}, "c2/app": {ab, fresh}},
		},
		{
			"handed over", "an object that another Application took over is explained",
			func(w *world) {
				w.apps["c1"] = map[string][]string{"app": {"ConfigMap/a"}, "other": {"ConfigMap/b"}}
			},
			map[string]row{"c1/app": {"ConfigMap/a ", fresh}, "c1/other": {"ConfigMap/b ", fresh}, "c2/app": {ab, fresh}},
		},
		{
			"access lost", "an invisible cluster looks like one without Applications",
			func(w *world) { w.hidden["c1"] = true },
			map[string]row{"c1/app": {ab, stale}, "c2/app": {ab, fresh}},
		},
		{
			"relations cut", "the object is still there",
			func(w *world) {
				w.bent = func(_ []string, r *search.Result) error {
					r.Related = slices.DeleteFunc(r.Related, func(it search.Item) bool { return it.Cluster == "c1" && it.Name == "b" })
					return nil
				}
			},
			map[string]row{"c1/app": {heldB, fresh}, "c2/app": {ab, fresh}},
		},
		{
			"relations of one cluster empty", "HTTP 200 and no relations is what a cancelled statement looks like",
			func(w *world) {
				w.bent = func(_ []string, r *search.Result) error {
					r.Related = slices.DeleteFunc(r.Related, func(it search.Item) bool { return it.Cluster == "c1" })
					return nil
				}
			},
			map[string]row{"c1/app": {heldAll, fresh}, "c2/app": {ab, fresh}},
		},
		{
			"relations empty", "all clusters at once: their query fails",
			func(w *world) {
				w.bent = func(_ []string, r *search.Result) error { r.Related = nil; return nil }
			},
			both(ab, stale),
		},
		{
			"items empty", "a cancelled items statement with a count that lies too",
			func(w *world) {
				w.hidden["c1"] = true
				w.bent = func(_ []string, r *search.Result) error { r.Items = nil; return nil }
			},
			map[string]row{"c1/app": {ab, stale}, "c2/app": {heldAll, 20 * time.Second}},
		},
		{
			"incomplete", "an answer that is known to be cut",
			func(w *world) {
				w.bent = func([]string, *search.Result) error { return &search.Error{Kind: search.KindIncomplete} }
			},
			both(ab, stale),
		},
		{
			"once", "a cut that the next answer does not repeat is nothing at all",
			func(w *world) {
				done := false
				w.bent = func(_ []string, r *search.Result) error {
					if !done {
						r.Related = nil
					}
					done = true
					return nil
				}
			},
			both(ab, fresh),
		},
		{
			"cluster gone", "a cluster that does not exist any more goes at once",
			func(w *world) { w.view.Clusters = []string{"c2"} },
			map[string]row{"c2/app": {ab, fresh}},
		},
		{
			"hub unreadable", "from a hub that cannot be read nothing is concluded but that data grows old",
			func(w *world) { w.viewed = errors.New("no"); w.view.Clusters = nil; w.view.Sets = nil },
			both(ab, 40*time.Second),
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(w *world) {
				tc.change(w)
				w.polls(3)
				w.expect(tc.reason, tc.want)
			})
		})
	}
}

func TestPoll_removesNothingWhileRelationsFail(t *testing.T) {
	in(t, func(w *world) {
		w.bent = func(_ []string, r *search.Result) error { r.Related = nil; return nil }
		success := testutil.ToFloat64(lastSuccess)
		w.polls(60)
		w.expect("ten minutes in which no Application has any object", both(ab, 610*time.Second))
		if testutil.ToFloat64(lastSuccess) != success || w.poller.changes[subjectFailure] != string(search.KindIncomplete) {
			t.Errorf("relations that fail everywhere are a success (%q)", w.poller.changes[subjectFailure])
		}
		w.bent = nil
		w.poll()
		w.expect("whole again", both(ab, fresh))
	})
}

func TestPoll_removesLossesAfterFiveMinutes(t *testing.T) {
	for _, gone := range []struct {
		reason string
		change func(w *world)
		want   map[string]row
	}{
		{"a resource", func(w *world) { w.apps["c1"]["app"] = []string{"ConfigMap/a"} }, map[string]row{"c1/app": {"ConfigMap/a ", fresh}, "c2/app": {ab, fresh}}},
		{"all resources", func(w *world) { w.apps["c1"]["app"] = nil }, map[string]row{"c1/app": {"", fresh}, "c2/app": {ab, fresh}}},
		{"all Applications of a cluster", func(w *world) { delete(w.apps, "c1") }, map[string]row{"c2/app": {ab, fresh}}},
	} {
		in(t, func(w *world) {
			gone.change(w)
			for range 30 {
				w.poll()
				if got := w.rows()["c1/app"].objects; strings.Count(got, "ConfigMap") != 2 {
					t.Fatalf("%s: %q before its time", gone.reason, got)
				}
			}
			w.polls(3)
			w.expect(gone.reason, gone.want)
			asked := w.access
			w.polls(6)
			if w.access > asked+1 {
				t.Errorf("%s: rights are read with each poll for ever", gone.reason)
			}
		})
	}
}

// A first answer without any object may mean that the query for relations failed. A new pod cannot compare
// it with an earlier answer, so it writes no report.
func TestFirstRead_writesNoReportWithoutRelations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.bent = func(_ []string, r *search.Result) error { r.Related = nil; return nil }
		w.polls(60)
		if _, err := w.store.Read(setKey.Namespace, setKey.Name); !errors.Is(err, intermediate.ErrNone) {
			t.Errorf("a report without any resource was written: %v", err)
		}
		if got := testutil.ToFloat64(clustersStale); got != 2 {
			t.Errorf("%v clusters are stale, want 2", got)
		}
		w.bent = nil
		w.poll()
		w.expect("then it is read", both(ab, fresh))
	})
}
