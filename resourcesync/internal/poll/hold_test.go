// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// gauge checks a metric.
func gauge(t *testing.T, reason string, c prometheus.Collector, want float64) {
	t.Helper()
	if got := testutil.ToFloat64(c); got != want {
		t.Errorf("%s: %v, want %v", reason, got, want)
	}
}

func TestWhatIsHeldHoldsNothingElse(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["other"] = []string{"ConfigMap/x", "ConfigMap/y", "ConfigMap/z"}
		w.poll()
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		w.extra["c1"] = []string{"ConfigMap/b"}
		errors := testutil.ToFloat64(failures.WithLabelValues("incomplete"))
		w.poll()
		w.apps["c1"]["other"] = []string{"ConfigMap/x", "ConfigMap/z", "Secret/new"} // y is deleted
		w.poll()
		w.expect("what comes and what is proven to be gone on the same cluster shows at once",
			map[string]row{"c1/app": {"ConfigMap/a (ConfigMap/b) ", fresh}, "c1/other": {"ConfigMap/x ConfigMap/z Secret/new ", fresh}, "c2/app": {ab, fresh}})
		gauge(t, "resources held", heldNow.WithLabelValues("resources"), 1)
		gauge(t, "clusters held", clusterStates.WithLabelValues("held"), 1)
		gauge(t, "a held resource is no stale cluster", clustersStale, 0)
		gauge(t, "nor a failure", failures.WithLabelValues("incomplete"), errors)
		if since := float64(time.Now().Unix()) - testutil.ToFloat64(lastSuccess); since > 10 || w.poller.failingKind != "" {
			t.Errorf("polls count as failed for %v s: %q", since, w.poller.failingKind)
		}
	})
}

func TestEachDoubtHasATimeOfItsOwn(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = nil
		for i := range 40 {
			w.apps["c1"]["app"] = append(w.apps["c1"]["app"], fmt.Sprintf("ConfigMap/%02d", i))
		}
		w.poll()
		// Once a minute another object leaves the Application and stays on the cluster.
		for minute := range 12 {
			gone := w.apps["c1"]["app"][0]
			w.apps["c1"]["app"] = w.apps["c1"]["app"][1:]
			w.extra["c1"] = append(w.extra["c1"], gone)
			if minute == 3 {
				w.restart() // a new container over the same files
			}
			w.polls(6)
			held := strings.Count(w.rows()["c1/app"].objects, "(")
			if want := min(minute+1, 5); held != want && held != want+1 {
				t.Errorf("minute %d: %d resources are held, want %d", minute+1, held, want)
			}
		}
	})
}

func TestTheEndIsConfirmedLater(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		w.extra["c1"] = []string{"ConfigMap/b"}
		w.poll()
		w.extra["c1"] = nil
		w.polls(8)
		w.expect("it is asked about once a minute", map[string]row{"c1/app": {"ConfigMap/a ", fresh}, "c2/app": {ab, fresh}})
		gauge(t, "nothing is held", heldNow.WithLabelValues("resources"), 0)
	})
}

func TestWhatComesBackIsHeldNoMore(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		w.extra["c1"] = []string{"ConfigMap/b"}
		w.polls(20)
		w.apps["c1"]["app"] = []string{"ConfigMap/a", "ConfigMap/b"}
		w.poll()
		w.expect("listed again", both(ab, fresh))
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		w.polls(20)
		w.expect("a new absence has a new time", map[string]row{"c1/app": {"ConfigMap/a (ConfigMap/b) ", fresh}, "c2/app": {ab, fresh}})
	})
}

// An Application that one read leaves out and whose second read fails is held as a
// whole, over a restart too, and goes with the next answer without it.
func TestAnApplicationIsHeldUntilASecondReadLacksItToo(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["other"] = []string{"ConfigMap/x"}
		w.poll()
		delete(w.apps["c1"], "other")
		reads := 0
		w.bent = func([]string, *search.Result) error {
			if reads++; reads > 1 {
				return &search.Error{Kind: search.KindUnauthenticated}
			}
			return nil
		}
		w.poll()
		held := map[string]row{"c1/app": {ab, fresh}, "c1/other": {"(ConfigMap/x) ", 10 * time.Second}, "c2/app": {ab, fresh}}
		w.expect("held", held)
		gauge(t, "Applications held", heldNow.WithLabelValues("applications"), 1)
		w.restart()
		w.bent = nil
		w.poll()
		w.expect("two reads lack it", both(ab, fresh))
		gauge(t, "Applications held", heldNow.WithLabelValues("applications"), 0)
	})
}

// Values that search takes as patterns or comparisons are never sent. What they name
// cannot be confirmed and ends with its own time, and no other cluster with it.
func TestNamesAreNeverPatterns(t *testing.T) {
	names := []string{"*", "web-*", "!a", ">a", "<a", "=a", "!=a", ">=a"}
	in(t, func(w *world) {
		all := []string{"ConfigMap/a"}
		for _, n := range names {
			all = append(all, "ConfigMap/"+n)
		}
		w.apps["c1"]["app"] = append(all, "*/a", "!Secret/a")
		w.poll()
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		w.apps["c2"]["app"] = []string{"ConfigMap/a"}
		w.poll()
		if got := w.rows()["c2/app"].objects; got != "ConfigMap/a " {
			t.Errorf("another cluster is held: %s", got)
		}
		if got := strings.Count(w.rows()["c1/app"].objects, "("); got != len(names)+2 {
			t.Errorf("%d resources are held, want %d", got, len(names)+2)
		}
		w.polls(33)
		w.expect("all end", map[string]row{"c1/app": {"ConfigMap/a ", fresh}, "c2/app": {"ConfigMap/a ", fresh}})
		for _, n := range names {
			if slices.Contains(w.questions, n) {
				t.Errorf("search was asked for %q", n)
			}
		}
	})
}

func TestOneClusterThatCannotBeAskedHoldsNoOther(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"], w.apps["c2"]["app"] = []string{"ConfigMap/a"}, []string{"ConfigMap/a"}
		w.mute["c1"] = true
		w.poll()
		w.expect("asked cluster by cluster", map[string]row{"c1/app": {"ConfigMap/a (ConfigMap/b) ", fresh}, "c2/app": {"ConfigMap/a ", fresh}})
	})
}

// The search add-on of a cluster is taken away, or the account's right to see it. That
// is no proof of anything, however long it lasts, and no failure of search either.
func TestAHiddenClusterIsKeptForGood(t *testing.T) {
	in(t, func(w *world) {
		w.hidden["c2"] = true
		w.polls(360)
		want := map[string]row{"c1/app": {ab, fresh}, "c2/app": {ab, 3610 * time.Second}}
		w.expect("an hour later", want)
		gauge(t, "stale", clustersStale, 1)
		gauge(t, "hidden", clusterStates.WithLabelValues("hidden"), 1)
		if since := float64(time.Now().Unix()) - testutil.ToFloat64(lastSuccess); since > 10 || w.poller.failingKind != "" {
			t.Errorf("polls count as failed for %v s: %q", since, w.poller.failingKind)
		}
		w.hidden["c2"] = false
		w.poll()
		w.expect("back", both(ab, fresh))
		gauge(t, "stale", clustersStale, 0)
	})
}

// Search does not tell which clusters it shows: an empty answer is none then.
func TestAnEmptyAnswerNeedsAVisibleCluster(t *testing.T) {
	in(t, func(w *world) {
		delete(w.apps, "c1")
		w.accessFails = true
		w.polls(60)
		w.expect("kept", map[string]row{"c1/app": {ab, 610 * time.Second}, "c2/app": {ab, fresh}})
		w.accessFails = false
		w.poll()
		w.expect("gone", map[string]row{"c2/app": {ab, fresh}})
	})
}

// A cluster that goes takes its doubts along; one of the same name begins anew.
func TestAClusterOfTheSameNameBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.bent = func(_ []string, r *search.Result) error {
			r.Related = slices.DeleteFunc(r.Related, func(it search.Item) bool { return it.Cluster == "c1" })
			return nil
		}
		w.polls(29) // almost five minutes
		if _, doubtful := w.poller.bare["c1"]; !doubtful {
			t.Fatal("a first answer without any object is believed")
		}
		view := w.view.Clusters
		w.view.Clusters = []string{"c2"}
		w.poll()
		if len(w.poller.bare) != 0 {
			t.Errorf("doubts about a cluster that is gone: %v", w.poller.bare)
		}
		w.view.Clusters = view
		w.apps["c1"] = map[string][]string{"app": {"ConfigMap/a"}}
		w.extra["c2"] = []string{"ConfigMap/a"}
		w.polls(3)
		w.expect("nothing could have been known of the new one", map[string]row{"c1/app": {"", fresh}, "c2/app": {ab, fresh}})
	})
}

// An Application that moves from one ApplicationSet to another leaves the first one's
// report.
func TestAnApplicationMovesToAnotherSet(t *testing.T) {
	in(t, func(w *world) {
		other := intermediate.Key{Namespace: "argocd", Name: "other"}
		w.view.Sets[other] = true
		w.bent = func(_ []string, r *search.Result) error {
			for i := range r.Items {
				r.Items[i].Hosting = "ApplicationSet/" + other.String()
			}
			return nil
		}
		w.poll()
		w.expect("nothing is left", map[string]row{})
		r, err := w.store.Read(other.Namespace, other.Name)
		if err != nil || len(r.Applications) != 2 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
