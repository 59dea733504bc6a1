// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

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
					r.Items = append(r.Items, search.Item{UID: "cluster__local-cluster", Kind: "Cluster", Name: "local-cluster", Cluster: "local-cluster"})
				}
				w.access = 0
				w.seen = r
				for range 2 {
					w.polls(30)
				}
				w.logs = slices.DeleteFunc(w.logs, func(l string) bool {
					return strings.Contains(l, "poll of search failed") || strings.Contains(l, "several polls")
				})
				switch {
				case tc.want == "" && len(w.logs) != 0, tc.want != "" && (len(w.logs) != 1 || !strings.Contains(w.logs[0], tc.want)):
					t.Errorf("said %q, want %q", w.logs, tc.want)
				}
			})
		})
	}
}

// Objects of other APIs also have the kind Cluster. One with the name of a hidden cluster does not make that cluster
// visible, and one with the hub's name is not the hub.
func TestAccess_ignoresOtherObjectsOfTheKind(t *testing.T) {
	in(t, func(w *world) {
		w.hidden["c2"] = true
		r, _ := w.Clusters(t.Context())
		for _, name := range []string{"c2", "local-cluster"} {
			r.Items = append(r.Items, search.Item{UID: "c1/" + name, Kind: "Cluster", APIGroup: "postgresql.cnpg.io", Namespace: "default", Name: name, Cluster: "c1"})
		}
		w.seen = r
		w.polls(40)
		w.expect("the hidden cluster keeps its rows", map[string]row{"c1/app": {ab, fresh}, "c2/app": {ab, 410 * time.Second}})
		gauge(t, "hidden", clusterStates.WithLabelValues("hidden"), 1)
		if len(w.problems) != 1 || !contains(w.problems, "does not show every managed cluster") {
			t.Errorf("said %q", w.problems)
		}
	})
}

// An account without permissions gets the same answers as an account on an empty fleet. resourcesync
// reports this as a failure.
func TestAccess_failsWithoutAnyVisibleCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hidden["c1"], w.hidden["c2"] = true, true
		lastSuccess.Set(0)
		denied := testutil.ToFloat64(failures.WithLabelValues("access"))
		w.polls(60)
		gauge(t, "last success", lastSuccess, 0)
		gauge(t, "one failure a poll, so that a rate sees them", failures.WithLabelValues("access"), denied+60)
		if len(w.problems) == 0 || !contains(w.problems, "searches/allManagedData") || !contains(w.problems, "shows none of 2 managed clusters") {
			t.Errorf("said at error level: %q", w.problems)
		}
		if len(w.problems) > 3 {
			t.Errorf("said again and again: %q", w.problems)
		}
		w.hidden = map[string]bool{}
		w.poll()
		w.expect("granted", both(ab, fresh))
		if testutil.ToFloat64(lastSuccess) == 0 {
			t.Error("a good poll is no success")
		}
	})
}

// The search operator's own role may not list namespaces. The service then cannot resolve the account's
// access, and the log names the permission that solves this.
func TestAccess_advisesIfItCannotBeResolved(t *testing.T) {
	in(t, func(w *world) {
		w.problems = nil
		w.down = &search.Error{Kind: search.KindAccess, Status: 200, Detail: "unable to resolve query because of error while resolving user's access"}
		w.polls(3)
		if len(w.problems) != 1 || !contains(w.problems, "searches/allManagedData") {
			t.Errorf("said %q", w.problems)
		}
	})
}

// The query for the visible clusters may fail alone, for example because its answer is too large. Then no
// empty answer counts, and only the log shows why.
func TestAccess_logsAFailedCheckOnce(t *testing.T) {
	in(t, func(w *world) {
		w.problems = nil
		w.accessFails = true
		w.hidden["c1"] = true // an empty answer requests the visible clusters in each poll
		w.polls(10)
		const message = "cannot read which managed clusters search shows"
		if len(w.problems) != 1 || !contains(w.problems, message) || !contains(w.problems, "too_large") {
			t.Errorf("said %q", w.problems)
		}
		w.accessFails = false
		w.hidden["c1"] = false
		w.poll()
		w.accessFails = true
		w.hidden["c1"] = true
		w.problems = nil
		w.polls(10)
		if len(w.problems) != 1 || !contains(w.problems, message) {
			t.Errorf("said %q after a success", w.problems)
		}
	})
}

func TestAccess_isCheckedWhileTheFleetIsIdle(t *testing.T) {
	in(t, func(w *world) {
		asked := w.access
		w.polls(60)
		if got := w.access - asked; got != 2 {
			t.Errorf("asked %d times in ten minutes, want twice", got)
		}
		w.hidden["idle"] = true
		w.view.Clusters = append(w.view.Clusters, "idle")
		w.problems = nil
		w.polls(31)
		if !contains(w.problems, "does not show every managed cluster") {
			t.Errorf("said %q", w.problems)
		}
	})
}
