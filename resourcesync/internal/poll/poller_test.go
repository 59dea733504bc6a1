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

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const ab = "ConfigMap/a ConfigMap/b "

// in runs a test in a bubble with a settled world.
func in(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.poll()
		w.expect("settled", both(ab, fresh))
		test(w)
	})
}

func TestUnchangedAnswersWriteNothing(t *testing.T) {
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

func TestGrowthIsTakenAtOnce(t *testing.T) {
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

func TestOutageKeepsAndDates(t *testing.T) {
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

func TestFailuresAreSaidOnce(t *testing.T) {
	in(t, func(w *world) {
		w.logs = nil
		w.down = &search.Error{Kind: search.KindDatabase}
		w.poll()
		w.poll()
		w.down = nil
		w.poll()
		w.poll()
		if len(w.logs) != 2 || !strings.Contains(w.logs[0], "database") || !strings.Contains(w.logs[1], "search answers") {
			t.Errorf("said %q", w.logs)
		}
	})
}

func TestLossNeedsProof(t *testing.T) {
	const heldB, heldAll = "ConfigMap/a (ConfigMap/b) ", "(ConfigMap/a) (ConfigMap/b) "
	stale := 40 * time.Second
	tests := []struct {
		name, reason string
		change       func(w *world)
		want         map[string]row
	}{
		{
			"resource deleted", "two reads agree, and the object is gone",
			func(w *world) { w.apps["c1"]["app"] = []string{"ConfigMap/a"} },
			map[string]row{"c1/app": {"ConfigMap/a ", fresh}, "c2/app": {ab, fresh}},
		},
		{
			"all resources deleted", "the relations may be empty when the objects are gone",
			func(w *world) { w.apps["c1"]["app"] = nil },
			map[string]row{"c1/app": {"", fresh}, "c2/app": {ab, fresh}},
		},
		{
			"application deleted", "two counts agree, and the cluster is visible",
			func(w *world) { delete(w.apps, "c1") },
			map[string]row{"c2/app": {ab, fresh}},
		},
		{
			"last applications deleted", "an empty report is not no report",
			func(w *world) { clear(w.apps) },
			map[string]row{},
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
			"relations empty", "all clusters at once",
			func(w *world) {
				w.bent = func(_ []string, r *search.Result) error { r.Related = nil; return nil }
			},
			both(heldAll, fresh),
		},
		{
			"items empty", "a cancelled items statement with a count that lies too",
			func(w *world) {
				w.hidden["c1"] = true
				w.bent = func(_ []string, r *search.Result) error { r.Items = nil; return nil }
			},
			map[string]row{"c1/app": {ab, stale}},
		},
		{
			"incomplete", "an answer that is known to be cut",
			func(w *world) {
				w.bent = func([]string, *search.Result) error { return &search.Error{Kind: search.KindIncomplete} }
			},
			both(ab, stale),
		},
		{
			"once", "a cut that the second read does not repeat is nothing at all",
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
			"cut in different places", "two reads that differ prove nothing",
			func(w *world) {
				gone := "a"
				w.extra["c1"] = nil
				w.bent = func(_ []string, r *search.Result) error {
					r.Related = slices.DeleteFunc(r.Related, func(it search.Item) bool { return it.Cluster == "c1" && it.Name == gone })
					gone = "b"
					return nil
				}
			},
			map[string]row{"c1/app": {heldB, fresh}, "c2/app": {ab, fresh}},
		},
		{
			"cluster gone", "a cluster that does not exist any more goes at once",
			func(w *world) { w.view.Clusters = []string{"c2"} },
			map[string]row{"c2/app": {ab, fresh}},
		},
		{
			"hub unreadable", "nothing is concluded from a hub that cannot be read",
			func(w *world) { w.viewed = errors.New("no"); w.view.Clusters = nil; w.view.Sets = nil },
			both(ab, fresh),
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

func TestDoubtEndsWithTheFault(t *testing.T) {
	in(t, func(w *world) {
		w.bent = func(_ []string, r *search.Result) error { r.Related = nil; return nil }
		success := testutil.ToFloat64(lastSuccess)
		for range 60 { // ten minutes
			w.poll()
			w.expect("nothing is believed while no Application has any object", both("(ConfigMap/a) (ConfigMap/b) ", fresh))
		}
		if testutil.ToFloat64(lastSuccess) != success || w.poller.failing != string(search.KindIncomplete) {
			t.Errorf("relations that fail everywhere are a success (%q)", w.poller.failing)
		}
		w.bent = nil
		w.poll()
		w.expect("whole again", both(ab, fresh))
	})
}

func TestAnObjectThatOutlivesItsApplicationIsBelievedInTheEnd(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		w.extra["c1"] = []string{"ConfigMap/b"} // no longer the Application's, but not deleted
		for range 30 {
			w.poll()
			w.expect("not yet", map[string]row{"c1/app": {"ConfigMap/a (ConfigMap/b) ", fresh}, "c2/app": {ab, fresh}})
		}
		w.polls(2)
		w.expect("left out for five minutes beside good relations", map[string]row{"c1/app": {"ConfigMap/a ", fresh}, "c2/app": {ab, fresh}})
	})
}

// A first answer without any object looks like one whose statement for relations has
// failed, and a new pod has nothing to compare it with.
func TestFirstReadWithoutRelations(t *testing.T) {
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

func TestHalfOfTheBatchesFail(t *testing.T) {
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

func TestTransientFailuresAreRepeatedWithinTheInterval(t *testing.T) {
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
		if w.asked != 7 || w.most != 1 {
			t.Errorf("%d requests, %d at once; want 7, one at a time while nobody knows what they weigh", w.asked, w.most)
		}
		w.poll()
		if w.asked != 14 || w.most != 2 {
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

// Several groups are confirmed at once: this is what the race detector looks at.
func TestManyClustersLoseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.view.Clusters, w.apps = nil, map[string]map[string][]string{}
		for i := range 45 {
			c := fmt.Sprintf("c%02d", i)
			w.view.Clusters = append(w.view.Clusters, c)
			w.apps[c] = map[string][]string{"app": {"ConfigMap/a", "ConfigMap/b"}}
		}
		w.poll()
		for c := range w.apps {
			w.apps[c] = map[string][]string{"app": {"ConfigMap/a"}, "new": nil}
		}
		w.poll()
		for key, got := range w.rows() {
			if want := map[bool]row{true: {"ConfigMap/a ", fresh}, false: {"", fresh}}[strings.HasSuffix(key, "/app")]; got != want {
				t.Errorf("%s: %v, want %v", key, got, want)
			}
		}
	})
}

func TestFilesFollowApplicationSets(t *testing.T) {
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

func TestDamagedFileIsReplaced(t *testing.T) {
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

func TestRemovedFileIsWrittenAgain(t *testing.T) {
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

// fullDisk fails every write.
type fullDisk struct{ *intermediate.Store }

func (fullDisk) Write(*intermediate.Report) error { return errors.New("no space left on device") }

func TestFailedWritesAreRepeated(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = append(w.apps["c1"]["app"], "Secret/s")
		w.poller.Files = fullDisk{w.store}
		w.logs = nil
		w.poll()
		w.poll()
		w.expect("the last good report stays", both(ab, fresh))
		if len(w.logs) != 1 || !strings.Contains(w.logs[0], "no space left") {
			t.Errorf("said %q", w.logs)
		}
		w.poller.Files = w.store
		w.poll()
		want := both(ab, fresh)
		want["c1/app"] = row{ab + "Secret/s ", fresh}
		w.expect("written when there is room", want)
	})
}

func TestNoSearchService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.down = &search.Error{Kind: search.KindAbsent}
		done := make(chan error)
		go func() { done <- w.poller.Start(ctx) }()
		sleep(ctx, time.Hour)
		w.with(func() {
			if len(w.logs) != 1 || !strings.Contains(w.logs[0], "no search service") {
				t.Errorf("said %q", w.logs)
			}
			w.down = nil
		})
		if keys, _ := w.store.List(); len(keys) != 0 {
			t.Errorf("wrote %v", keys)
		}
		sleep(ctx, 2*time.Minute)
		w.expect("starts by itself", both(ab, fresh))
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		wake := make(chan struct{})
		w.poller.Wake = wake
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.poller.Start(ctx) }()
		requests := func() (n int) {
			w.with(func() { n = w.asked })
			return n
		}
		sleep(ctx, 3*time.Second)
		before := requests()
		wake <- struct{}{}
		sleep(ctx, time.Second)
		if after := requests(); after != before+1 {
			t.Errorf("%d requests after a hint", after-before)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAccess(t *testing.T) {
	tests := []struct {
		reason string
		hidden []string
		hub    bool
		want   string
	}{
		{"all is well", nil, false, ""},
		{"one cluster is not shown", []string{"c1"}, false, "searches/allManagedData"},
		{"nothing is shown at all", []string{"c1", "c2"}, false, "fine-grained"},
		{"the hub in place of a cluster", []string{"c1"}, true, "managedclusterviews"},
		{"more than is needed", nil, true, "nothing more"},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				for _, c := range tc.hidden {
					w.hidden[c] = true
				}
				r, _ := w.Clusters(t.Context())
				if tc.hub {
					r.Items = append(r.Items, search.Item{Name: "local-cluster"})
				}
				for range 2 {
					w.poller.reportAccess(w.view, r)
				}
				switch {
				case tc.want == "" && len(w.logs) != 0, tc.want != "" && (len(w.logs) != 1 || !strings.Contains(w.logs[0], tc.want)):
					t.Errorf("said %q, want %q", w.logs, tc.want)
				}
			})
		})
	}
}

func TestStopInTheMiddleConcludesNothing(t *testing.T) {
	in(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		w.bent = func([]string, *search.Result) error { cancel(); return context.Canceled }
		w.poller.poll(ctx)
		w.bent = nil
		w.expect("nothing was concluded", both(ab, fresh))
	})
}
