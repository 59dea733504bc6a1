// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// withoutRelated makes the query for relations fail in each request that has the cluster.
func (w *world) withoutRelated(cluster string) {
	w.bent = func(asked []string, r *search.Result) error {
		if slices.Contains(asked, cluster) {
			r.Related = nil
		}
		return nil
	}
}

// The query for relations fails for one of eleven batches, with HTTP 200 and no error. The batch's
// resources stay and become stale.
func TestRelations_failureOfOneBatchKeepsItsResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(20)
		w.poller.Options.BatchSize = 2
		w.poll()
		w.withoutRelated("c1")
		counted := testutil.ToFloat64(failures.WithLabelValues("incomplete"))
		w.polls(60)
		rows := w.rows()
		if got := rows["c1/app"]; got.objects != ab || got.age < 9*time.Minute {
			t.Errorf("ten minutes later: %v, want its resources, stale", got)
		}
		delete(rows, "c1/app")
		for key, r := range rows {
			if r.objects == "" || r.age != fresh {
				t.Errorf("%s: %v", key, r)
			}
		}
		if testutil.ToFloat64(failures.WithLabelValues("incomplete")) == counted {
			t.Error("no error is counted")
		}
		w.bent = nil
		w.polls(7)
		if got := w.rows()["c1/app"]; got != (row{ab, fresh}) {
			t.Errorf("relations work again: %v", got)
		}
	})
}

// The query for relations fails for one batch of a new pod. The batch's clusters stay unread.
func TestRelations_failureAtTheFirstReadLeavesABatchUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.poller.Options.BatchSize = 1
		w.withoutRelated("c1")
		w.polls(60)
		w.expect("only the other cluster", map[string]row{"c2/app": {ab, fresh}})
		w.speaksForAllBut("it was not read", "c1")
	})
}

// All Applications of a batch really lose their resources. Resources of another cluster in the same answer
// prove that the query for relations works.
func TestRelations_emptyBatchIsReadWithAWitness(t *testing.T) {
	for _, size := range []int{1, 2} {
		t.Run(fmt.Sprintf("batches of %d", size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.grow(2)
				w.poller.Options.BatchSize = size
				w.poll()
				w.apps["c1"]["app"], w.apps["c2"]["app"] = nil, nil
				w.polls(3)
				if got := w.rows()["c1/app"]; got != (row{"(ConfigMap/a) (ConfigMap/b) ", fresh}) {
					t.Errorf("held: %v", got)
				}
				w.polls(30)
				if got := w.rows(); got["c1/app"] != (row{"", fresh}) || got["c2/app"] != (row{"", fresh}) {
					t.Errorf("after five minutes: %v", got)
				}
				asked := w.asked
				w.poll()
				if got := w.asked - asked; got != 4/size {
					t.Errorf("%d requests although nothing can be lost any more", got)
				}
			})
		})
	}
}

// All Applications of a fleet lose their resources. Nothing proves that the query for relations works, so the rows
// stay and become stale, and the log names the cause. That ends with the first object of an Application, or with the
// Applications.
func TestRelations_keepTheLastResourcesOfAFleet(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(w *world)
		want map[string]row
	}{
		"an object":      {func(w *world) { w.apps["c2"]["app"] = []string{"Secret/s"} }, map[string]row{"c1/app": {"", fresh}, "c2/app": {"Secret/s ", fresh}}},
		"no Application": {func(w *world) { clear(w.apps) }, map[string]row{}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.apps["c1"]["app"], w.apps["c2"]["app"] = nil, nil
				w.problems = nil
				w.polls(60)
				w.expect("nothing proves it", both(ab, 610*time.Second))
				if len(w.problems) != 1 || !contains(w.problems, "no Application has an object any more") {
					t.Errorf("said %q", w.problems)
				}
				test.end(w)
				w.polls(40)
				w.expect("in the end", test.want)
			})
		})
	}
}

// An Application without resources is no failure if it never had any.
func TestRelations_allowAnApplicationWithoutResources(t *testing.T) {
	in(t, func(w *world) {
		w.poller.Options.BatchSize = 1
		w.view.Clusters = append(w.view.Clusters, "c3")
		w.apps["c3"] = map[string][]string{"app": nil}
		w.polls(6)
		w.expect("fresh", map[string]row{"c1/app": {ab, fresh}, "c2/app": {ab, fresh}, "c3/app": {"", fresh}})
		if w.poller.changes[subjectFailure] != "" {
			t.Errorf("polls fail: %s", w.poller.changes[subjectFailure])
		}
	})
}
