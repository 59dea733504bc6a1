// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// unread returns the clusters that the report does not cover.
func (w *world) unread() []string {
	w.t.Helper()
	r, err := w.store.Read(setKey.Namespace, setKey.Name)
	if err != nil {
		w.t.Fatalf("read report: %v", err)
	}
	return r.UnreadClusters
}

func (w *world) speaksForAllBut(reason string, want ...string) {
	w.t.Helper()
	if got := w.unread(); !slices.Equal(got, want) {
		w.t.Errorf("%s: the report leaves out %v, want %v", reason, got, want)
	}
}

// failingKind makes every request for one of these clusters fail.
func (w *world) failingKind(kind search.Kind, clusters ...string) {
	w.bent = func(asked []string, _ *search.Result) error {
		if slices.ContainsFunc(asked, func(c string) bool { return slices.Contains(clusters, c) }) {
			return &search.Error{Kind: kind}
		}
		return nil
	}
}

func TestUnread_shrinksAsClustersAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.view.Clusters = []string{"c1", "c2", "idle"} // the last one has no Application
		w.failingKind(search.KindTimeout, "c2")
		w.polls(2)
		w.speaksForAllBut("one cluster was not read", "c2")
		gauge(t, "an unread cluster is stale", clustersStale, 1)
		gauge(t, "unread", clusterStates.WithLabelValues("unread"), 1)
		w.restart()
		w.polls(2)
		w.speaksForAllBut("a restart does not read it", "c2")
		gauge(t, "nor does the restart", clustersStale, 1)
		w.bent = nil
		w.polls(3)
		w.speaksForAllBut("read")
		w.expect("all", both(ab, fresh))
		gauge(t, "read", clustersStale, 0)
		w.restart()
		w.failingKind(search.KindTimeout, "c2")
		w.poll()
		w.speaksForAllBut("what an earlier run has read is in the report")
		w.expect("all", both(ab, fresh))
	})
}

// If a report's file is lost, its unread clusters are unread again. Other reports do not change.
func TestUnread_includesClustersOfALostReport(t *testing.T) {
	for reason, lose := range map[string]func(t *testing.T, w *world){
		"damaged": damage,
		"removed": func(t *testing.T, w *world) {
			if err := w.store.Remove(setKey.Namespace, setKey.Name); err != nil {
				t.Fatal(err)
			}
		},
	} {
		in(t, func(w *world) {
			other := intermediate.Key{Namespace: "argocd", Name: "other"}
			if err := w.store.Write(&intermediate.Report{Namespace: other.Namespace, Name: other.Name, Applications: []intermediate.Application{{Cluster: "c2", Namespace: "argocd", Name: "else"}}}); err != nil {
				t.Fatal(err)
			}
			w.view.Sets[other] = true
			lose(t, w)
			w.restart()
			w.failingKind(search.KindTimeout, "c2")
			w.poll()
			w.speaksForAllBut(reason, "c2")
			if r, err := w.store.Read(other.Namespace, other.Name); err != nil || len(r.UnreadClusters) != 0 || len(r.Applications) != 1 {
				t.Errorf("%s: the other report: %+v, %v", reason, r, err)
			}
		})
	}
}

func TestPoll_writesNothingIfAClusterJoins(t *testing.T) {
	in(t, func(w *world) {
		before := testutil.ToFloat64(writes)
		w.view.Clusters = append(w.view.Clusters, "new")
		w.hidden["new"] = true // its search add-on is installed later
		w.polls(3)
		w.hidden["new"] = false
		w.polls(3)
		gauge(t, "writes", writes, before)
		gauge(t, "stale", clustersStale, 0)
	})
}

// Search does not show a cluster without the search add-on, and the report does not list it as unread.
// Otherwise, aggregation would keep the old content of all clusters until the add-on is installed.
func TestUnread_excludesHiddenClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hidden["c2"] = true
		w.polls(3)
		w.speaksForAllBut("there is nothing to wait for")
		gauge(t, "the add-on may well not be wanted there", clustersStale, 0)
		gauge(t, "hidden", clusterStates.WithLabelValues("hidden"), 1)
		w.hidden["c2"] = false
		w.poll()
		w.speaksForAllBut("read")
		w.expect("all", both(ab, fresh))
	})
}

// If the poller has not read which clusters the account may see, an empty answer does not make a cluster
// read.
func TestFirstRead_ignoresEmptyAnswersWhileAccessIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hidden["c2"], w.accessFails = true, true
		w.polls(3)
		w.speaksForAllBut("nothing was read", "c2")
		w.accessFails = false
		delete(w.apps, "c2")
		w.hidden["c2"] = false
		w.poll()
		w.speaksForAllBut("it is visible, and has none")
	})
}

// If its directory has reports, a restarted container treats a missing search service as a failure.
func TestPoll_absenceOfAKnownSearchIsAFailure(t *testing.T) {
	in(t, func(w *world) {
		w.down = &search.Error{Kind: search.KindUnreachable}
		w.restart()
		w.problems = nil
		w.polls(4)
		if !contains(w.problems, "poll of search failed") {
			t.Errorf("said %q", w.logs)
		}
		w.expect("dated", both(ab, 50*time.Second))
	})
}

func TestPoll_hubWithoutSearchHasNothingStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.down = &search.Error{Kind: search.KindAbsent}
		w.polls(3)
		gauge(t, "stale", clustersStale, 0)
		gauge(t, "unread", clusterStates.WithLabelValues("unread"), 0)
		w.view.Clusters = append(w.view.Clusters, "joins")
		w.polls(10)
		if keys, err := w.store.List(); err != nil || len(keys) != 0 {
			t.Errorf("there are reports %v, %v", keys, err)
		}
	})
}

// If search fails in some polls, no report is written.
func TestPoll_writesNothingWhileSearchFlaps(t *testing.T) {
	in(t, func(w *world) {
		before := testutil.ToFloat64(writes)
		for i := range 60 {
			w.down = nil
			if i%3 != 0 {
				w.down = &search.Error{Kind: search.KindStatement}
			}
			w.poll()
		}
		gauge(t, "writes", writes, before)
	})
}

func TestRestart_datesFilesDuringAnOutage(t *testing.T) {
	in(t, func(w *world) {
		w.polls(360) // an hour without a write
		w.down = &search.Error{Kind: search.KindToken}
		success := testutil.ToFloat64(lastSuccess)
		lastSuccess.Set(0) // as in a new process
		w.restart()
		gauge(t, "the time of the last good poll survives", lastSuccess, success)
		w.polls(3)
		w.expect("since the last good poll, not since the report was written", both(ab, 40*time.Second))
		gauge(t, "stale", clustersStale, 2)
		gauge(t, "a failed poll is no success", lastSuccess, success)
		w.restart()
		w.down = nil
		w.poll()
		w.expect("back", both(ab, fresh))
	})
}

// noClock is a directory that cannot store the time of the last success.
type noClock struct{ *intermediate.Store }

func (noClock) SetLastSuccess(time.Time) error  { return errors.New("read-only") }
func (noClock) LastSuccess() (time.Time, error) { return time.Time{}, errors.New("unreadable") }

func TestRestart_toleratesAnUnreadableClock(t *testing.T) {
	in(t, func(w *world) {
		w.restart()
		w.poller.Files = noClock{w.store}
		w.stop()
		w.poller.restore(w.t.Context())
		w.poll()
		w.expect("all the same", both(ab, fresh))
	})
}

func TestPoll_logsOddRowsOnce(t *testing.T) {
	in(t, func(w *world) {
		w.logs = nil
		w.bent = func(_ []string, r *search.Result) error {
			r.Odd = []string{"a row"}
			return nil
		}
		w.polls(5)
		gauge(t, "odd rows of the last poll", oddRows, 1)
		if len(w.logs) != 1 || !contains(w.logs, "a row") {
			t.Errorf("said %q", w.logs)
		}
		w.bent = nil
		w.poll()
		gauge(t, "odd rows", oddRows, 0)
	})
}

func TestReports_keepTheOldFileInAFullDirectory(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = append(w.apps["c1"]["app"], "Secret/s")
		w.poller.reports.total = intermediate.MaxDirectoryBytes - 100
		w.problems = nil
		w.polls(3)
		w.expect("the report before stays", both(ab, fresh))
		gauge(t, "reports left out", leftOutNow.WithLabelValues("reports"), 1)
		if len(w.problems) != 1 || !contains(w.problems, "argocd/guestbook") {
			t.Errorf("said %q", w.problems)
		}
		w.poller.reports.total = w.poller.reports.written[setKey].size
		w.poll()
		want := both(ab, fresh)
		want["c1/app"] = row{ab + "Secret/s ", fresh}
		w.expect("written when there is room", want)
		gauge(t, "reports left out", leftOutNow.WithLabelValues("reports"), 0)
		info, err := os.Stat(w.dir + "/argocd_guestbook.json")
		if err != nil || int(info.Size()) != w.poller.reports.total {
			t.Errorf("%d bytes are counted, the file has %v, %v", w.poller.reports.total, info, err)
		}
	})
}

// A report that does not fit counts as left out only while it is needed and does not fit.
func TestReports_countRefusedReportsOnlyWhileTheyAreNeeded(t *testing.T) {
	refused := leftOutNow.WithLabelValues("reports")
	for name, test := range map[string]struct {
		first bool // refuse the first report
		end   func(w *world)
	}{
		"the content is the file's again": {false, func(w *world) {
			w.apps["c1"]["app"] = w.apps["c2"]["app"]
			w.polls(32) // the report holds the lost resource for five minutes
		}},
		"the ApplicationSet is deleted": {true, func(w *world) {
			delete(w.view.Sets, setKey)
			w.poll()
		}},
		"the last cluster is removed": {true, func(w *world) {
			w.view.Clusters = nil
			w.poll()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if !test.first {
					w.poll()
				}
				w.apps["c1"]["app"] = []string{"ConfigMap/a", "ConfigMap/b", "Secret/s"}
				w.poller.reports.total = intermediate.MaxDirectoryBytes
				w.polls(2)
				gauge(t, "refused", refused, 1)
				test.end(w)
				gauge(t, "refused in the end", refused, 0)
			})
		})
	}
}

// An ApplicationSet may have Applications only on clusters that search cannot read, or that do not fit. Its report
// has no row, but lists the clusters and their time. It ends with the first answer.
func TestUnread_isReportedWithoutAnyRow(t *testing.T) {
	const large = "n000"
	for name, test := range map[string]struct {
		silent string
		begin  func(w *world)
		end    func(w *world)
	}{
		"unreadable": {"c2", func(w *world) {
			w.failingKind(search.KindTooLarge, "c2")
		}, func(w *world) { w.bent = nil }},
		"left out": {large, func(w *world) {
			w.poller.state.limit = 2000
			w.flood(1, 20)
		}, func(w *world) { w.poller.state.limit = newState(time.Second).limit }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				other := intermediate.Key{Namespace: "argocd", Name: "other"}
				w.view.Sets[other] = true
				test.begin(w)
				first := w.bent
				w.bent = func(asked []string, r *search.Result) error {
					for i := range r.Items {
						if r.Items[i].Cluster != test.silent {
							r.Items[i].Hosting = "ApplicationSet/" + other.String()
						}
					}
					return first(asked, r)
				}
				began := time.Now().UTC()
				w.polls(2)
				if _, err := w.store.Read(setKey.Namespace, setKey.Name); !errors.Is(err, intermediate.ErrNone) {
					t.Errorf("the first polls of a new pod write a report without a row: %v", err)
				}
				w.polls(4)
				r, err := w.store.Read(setKey.Namespace, setKey.Name)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Applications) != 0 || !slices.Equal(r.UnreadClusters, []string{test.silent}) || r.UnreadSince == nil || !r.UnreadSince.Equal(began) {
					t.Errorf("the report has %d rows and leaves out %v since %v", len(r.Applications), r.UnreadClusters, r.UnreadSince)
				}
				before := testutil.ToFloat64(writes)
				w.polls(3)
				gauge(t, "writes while nothing changes", writes, before)
				added := intermediate.Key{Namespace: "argocd", Name: "added"}
				w.view.Sets[added] = true
				w.poll()
				if r, err := w.store.Read(added.Namespace, added.Name); err != nil || r.UnreadSince == nil {
					t.Errorf("the report of a new ApplicationSet: %v", err)
				}
				w.view.Sets[intermediate.Key{Namespace: "argocd", Name: "no-room"}] = true
				total := w.poller.reports.total
				w.poller.reports.total = maxWithoutRows + 1
				w.poll()
				if w.poller.reports.total -= maxWithoutRows + 1 - total; w.poller.reports.total != total {
					t.Error("a report without a row takes the room of others")
				}
				gauge(t, "refused", leftOutNow.WithLabelValues("reports"), 0)
				test.end(w)
				w.bent = nil
				w.polls(10)
				if got := w.unread(); len(got) != 0 || len(w.rows()) == 0 {
					t.Errorf("after an answer the report leaves out %v and has %v", got, w.rows())
				}
			})
		})
	}
}

// After some polls, a report has the time since which it does not cover a cluster. A restart keeps that
// time.
func TestUnread_isDatedAfterSomePolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now().UTC()
		w.failingKind(search.KindTimeout, "c2")
		since := func() *time.Time {
			r, err := w.store.Read(setKey.Namespace, setKey.Name)
			if err != nil {
				t.Fatal(err)
			}
			return r.UnreadSince
		}
		w.poll()
		if at := since(); at != nil {
			t.Errorf("dated %v with the first poll", at)
		}
		w.polls(4)
		if at := since(); at == nil || !at.Equal(began) {
			t.Errorf("dated %v, want %v", at, began)
		}
		w.restart()
		w.polls(6)
		if at := since(); at == nil || !at.Equal(began) {
			t.Errorf("dated %v after a restart, want %v", at, began)
		}
		before := testutil.ToFloat64(writes)
		w.polls(6)
		gauge(t, "writes while nothing changes", writes, before)
		w.bent = nil
		w.polls(7)
		if at := since(); at != nil {
			t.Errorf("dated %v, although all are read", at)
		}
	})
}
