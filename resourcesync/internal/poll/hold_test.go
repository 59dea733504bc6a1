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

func gauge(t *testing.T, reason string, c prometheus.Collector, want float64) {
	t.Helper()
	if got := testutil.ToFloat64(c); got != want {
		t.Errorf("%s: %v, want %v", reason, got, want)
	}
}

func TestHold_showsNewResourcesAtOnce(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["other"] = []string{"ConfigMap/x", "ConfigMap/y", "ConfigMap/z"}
		w.poll()
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		errors := testutil.ToFloat64(failures.WithLabelValues("incomplete"))
		w.poll()
		w.apps["c1"]["other"] = []string{"ConfigMap/x", "ConfigMap/y", "ConfigMap/z", "Secret/new"}
		w.poll()
		w.expect("what comes on the same cluster shows at once",
			map[string]row{"c1/app": {"ConfigMap/a (ConfigMap/b) ", fresh}, "c1/other": {"ConfigMap/x ConfigMap/y ConfigMap/z Secret/new ", fresh}, "c2/app": {ab, fresh}})
		gauge(t, "resources held", heldNow.WithLabelValues("resources"), 1)
		gauge(t, "clusters held", clusterStates.WithLabelValues("held"), 1)
		gauge(t, "a held resource is no stale cluster", clustersStale, 0)
		gauge(t, "nor a failure", failures.WithLabelValues("incomplete"), errors)
		if since := float64(time.Now().Unix()) - testutil.ToFloat64(lastSuccess); since > 10 || w.poller.changes[subjectFailure] != "" {
			t.Errorf("polls count as failed for %v s: %q", since, w.poller.changes[subjectFailure])
		}
	})
}

func TestHold_timesEachResourceSeparately(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = nil
		for i := range 40 {
			w.apps["c1"]["app"] = append(w.apps["c1"]["app"], fmt.Sprintf("ConfigMap/%02d", i))
		}
		w.poll()
		for range 31 {
			w.poll() // the first two resources are no longer held
		}
		// Once a minute another resource is missing.
		for minute := range 12 {
			w.apps["c1"]["app"] = w.apps["c1"]["app"][1:]
			if minute == 3 {
				w.restart() // a new container with the same files
			}
			w.polls(6)
			held := strings.Count(w.rows()["c1/app"].objects, "(")
			if want := min(minute+1, 5); held != want && held != want+1 {
				t.Errorf("minute %d: %d resources are held, want %d", minute+1, held, want)
			}
		}
	})
}

func TestHold_endsWhenTheResourceIsRestored(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		w.polls(20)
		w.apps["c1"]["app"] = []string{"ConfigMap/a", "ConfigMap/b"}
		w.poll()
		w.expect("listed again", both(ab, fresh))
		w.apps["c1"]["app"] = []string{"ConfigMap/a"}
		w.polls(20)
		w.expect("a new absence has a new time", map[string]row{"c1/app": {"ConfigMap/a (ConfigMap/b) ", fresh}, "c2/app": {ab, fresh}})
	})
}

// An Application that search no longer returns is held with its resources, also after a restart.
// Aggregation shows only rows of existing ManifestWorks, so a deleted Application disappears at
// once.
func TestHold_keepsAnApplicationForFiveMinutes(t *testing.T) {
	in(t, func(w *world) {
		w.apps["c1"]["other"] = []string{"ConfigMap/x"}
		w.poll()
		delete(w.apps["c1"], "other")
		w.poll()
		w.expect("held", map[string]row{"c1/app": {ab, fresh}, "c1/other": {"(ConfigMap/x) ", 10 * time.Second}, "c2/app": {ab, fresh}})
		gauge(t, "Applications held", heldNow.WithLabelValues("applications"), 1)
		w.restart()
		w.polls(29)
		w.expect("still held", map[string]row{"c1/app": {ab, fresh}, "c1/other": {"(ConfigMap/x) ", 300 * time.Second}, "c2/app": {ab, fresh}})
		w.polls(2)
		w.expect("gone", both(ab, fresh))
		gauge(t, "Applications held", heldNow.WithLabelValues("applications"), 0)
	})
}

// The account may lose the permission to see a cluster, or the cluster may lose the search add-on. Its rows
// stay for any time, and polls still succeed.
func TestHold_hiddenClusterKeepsItsRows(t *testing.T) {
	in(t, func(w *world) {
		w.hidden["c2"] = true
		w.polls(360)
		want := map[string]row{"c1/app": {ab, fresh}, "c2/app": {ab, 3610 * time.Second}}
		w.expect("an hour later", want)
		gauge(t, "stale", clustersStale, 1)
		gauge(t, "hidden", clusterStates.WithLabelValues("hidden"), 1)
		if since := float64(time.Now().Unix()) - testutil.ToFloat64(lastSuccess); since > 10 || w.poller.changes[subjectFailure] != "" {
			t.Errorf("polls count as failed for %v s: %q", since, w.poller.changes[subjectFailure])
		}
		w.hidden["c2"] = false
		w.poll()
		w.expect("back", both(ab, fresh))
		gauge(t, "stale", clustersStale, 0)
	})
}

// If the poller has not read which clusters the account may see, an empty answer does not remove rows.
func TestHold_keepsRowsWhileAccessIsUnknown(t *testing.T) {
	in(t, func(w *world) {
		delete(w.apps, "c1")
		w.accessFails = true
		w.polls(60)
		w.expect("kept", map[string]row{"c1/app": {ab, 610 * time.Second}, "c2/app": {ab, fresh}})
		w.accessFails = false
		w.polls(32)
		w.expect("gone", map[string]row{"c2/app": {ab, fresh}})
	})
}

// An Application that moves to another ApplicationSet leaves the first one's report.
func TestPoll_movesAnApplicationToAnotherSet(t *testing.T) {
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

// The poller does not use a first answer without any object. A new cluster of the same name has no known
// objects, so the poller uses its first answer.
func TestFirstRead_acceptsANewClusterOfTheSameName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.bent = func(_ []string, r *search.Result) error {
			r.Related = slices.DeleteFunc(r.Related, func(it search.Item) bool { return it.Cluster == "c1" })
			return nil
		}
		w.polls(29) // almost five minutes
		w.expect("a first answer without any object is not taken over", map[string]row{"c2/app": {ab, fresh}})
		view := w.view.Clusters
		w.view.Clusters = []string{"c2"}
		w.poll()
		w.view.Clusters = view
		w.apps["c1"] = map[string][]string{"app": {"ConfigMap/a"}}
		w.poll()
		w.expect("nothing could have been known of the new one", map[string]row{"c1/app": {"", fresh}, "c2/app": {ab, fresh}})
	})
}
