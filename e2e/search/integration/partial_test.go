// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
)

// names returns the names of clusters.
func names(numbers ...int) []string {
	var out []string
	for _, n := range numbers {
		out = append(out, memory.ClusterName(n))
	}
	return out
}

// TestPartialOutage_keepsTheOtherClustersCurrent fails every request about two of the four clusters. These two keep their known data with its
// age, and the others stay current.
func TestPartialOutage_keepsTheOtherClustersCurrent(t *testing.T) {
	w := start(t, "--search-batch-size=1")
	failing, working := names(2, 3), names(0, 1)
	from := time.Now()
	w.awaitPolls(2 * fleet.Clusters) // a poll has a request for each cluster
	to := w.faults(search.Faults{
		StatementTimeout: true,
		Only:             func(r search.Request) bool { return r.Names(failing...) },
	})
	w.witness.always(all(whole, aged(from, to), func(s state) error { return fresh(s.of(working...)) }))
	w.eventually("the failing half is said to be old", func(s state) bool { return s.of(failing...).stale() == 4 })
	w.server.Table().Put(changed())
	w.eventually("the working half follows", hasCondition)
	w.faults(search.Faults{})
	w.eventually("all is new again", func(s state) bool { return s.stale() == 0 })
}

// TestPartialOutage_retriesTheFailedRequests fails every other request. resourcesync retries the failed requests and loses no data.
func TestPartialOutage_retriesTheFailedRequests(t *testing.T) {
	w := start(t, "--search-batch-size=1")
	w.faults(search.Faults{DatabaseDown: true, Only: func(r search.Request) bool { return r.Number%2 == 0 }})
	w.witness.always(whole)
	w.server.Table().Put(changed())
	w.eventually("the change shows", hasCondition)
}

// TestIncompleteAnswers_loseNoData returns incomplete answers with status 200 and no error.
func TestIncompleteAnswers_loseNoData(t *testing.T) {
	type short struct {
		name   string
		faults search.Faults
	}
	for reason, answers := range map[string][]short{
		"the answer is cut": {
			{"count and items differ", search.Faults{CutItems: true, ItemsKept: .5}},
			{"there are no items where some were", search.Faults{CutItems: true}},
			{"there are no relations", search.Faults{CutRelated: true}},
			{"some clusters' nodes are missing", search.Faults{CutRelated: true, RelatedKept: .5}},
		},
		"nothing in it tells": {
			{"nothing in the answer tells that it is cut", search.Faults{CutRelated: true, RelatedKept: .5, NodesKept: true}},
			{"fine-grained access control takes everything away", search.Faults{FineGrained: true}},
			{"one cluster's rows are gone", search.Faults{Lost: names(1)}},
			{"a managed cluster is taken for the hub", search.Faults{PseudoNodeFirst: true}},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			w := start(t)
			from := w.polled()
			for _, s := range answers {
				t.Run(s.name, func(t *testing.T) { from = w.in(t).cutShort(from, s.faults) })
			}
		})
	}
}

// cutShort makes answers incomplete for a while. No data is lost, uncertain data is stale or held, and all is
// current afterwards. The last good answer arrives after from. cutShort returns the earliest time of the next
// good answer. It polls first, because resourcesync requests a failed cluster less often than the others.
func (w *world) cutShort(from time.Time, f search.Faults) (healed time.Time) {
	w.t.Helper()
	w.awaitPolls(2)
	w.witness.always(whole)
	to := w.faults(f)
	w.witness.always(all(whole, aged(from, to)))
	w.eventually("some data is said to be old, or to be held", func(s state) bool { return s.stale()+s.held() > 0 })
	w.awaitPolls(2)
	healed = w.faults(search.Faults{})
	w.eventually("all is new again", func(s state) bool { return s.stale()+s.held() == 0 })
	w.witness.always(nil)
	return healed
}

// TestLoss_isHeldForFiveMinutes removes resources and Applications from search. Each removal is held for five minutes, and
// nothing else is held. An addition or a return appears at once.
func TestLoss_isHeldForFiveMinutes(t *testing.T) {
	w := start(t)
	w.witness.always(whole)
	cluster := memory.ClusterName(1)
	table := w.server.Table()
	table.Delete(memory.Resource(memory.ClusterName(0), memory.SetName(0), 0).UID)
	w.eventually("a resource is held", func(s state) bool { return s.held() == 1 && s.stale() == 0 })
	left := memory.Resource(cluster, memory.SetName(1), 0)
	table.Unrelate(edge(memory.ApplicationUID(cluster, memory.SetName(1)), left.UID))
	w.eventually("one that leaves its Application is held", func(s state) bool { return s.held() == 2 && s.stale() == 0 })
	table.Put(changed())
	w.eventually("an error on the same cluster shows", hasCondition)
	table.Delete(memory.Application(cluster, memory.SetName(0)).UID)
	w.eventually("an Application is held with all that it has, and dated", func(s state) bool { return s.held() == 2+fleet.Resources && s.stale() == 1 })
	table.Relate(edge(memory.ApplicationUID(cluster, memory.SetName(1)), left.UID))
	w.eventually("what comes back is held no more", func(s state) bool { return s.held() == 1+fleet.Resources })
	if said := w.said("poll failed", false); len(said) != 0 {
		t.Errorf("polls fail: %q", said)
	}
}

// TestFirstPoll_namesTheUnreadClusters starts with an empty directory while search fails for two of four clusters. The
// reports name these clusters as unread.
func TestFirstPoll_namesTheUnreadClusters(t *testing.T) {
	w := prepare(t, fleet)
	failing := names(1, 3)
	w.faults(search.Faults{StatementTimeout: true, Only: func(r search.Request) bool { return r.Names(failing...) }})
	w.run()
	w.eventually("the other two are read", func(s state) bool { return s.apps() == 4 && s.of(failing...).apps() == 0 })
	unread := func() (out []string) {
		for i := range fleet.Sets {
			report, err := w.witness.store.Read(memory.Namespace, memory.SetName(i))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, report.UnreadClusters...)
		}
		// Other tests create and delete clusters on the hub in the meantime.
		return slices.DeleteFunc(out, func(cluster string) bool { return !slices.Contains(names(0, 1, 2, 3), cluster) })
	}
	if got := unread(); !slices.Equal(got, append(names(1, 3), failing...)) {
		t.Errorf("the reports do not speak for %v, want %v in each", got, failing)
	}
	w.faults(search.Faults{})
	w.complete()
	w.eventually("the reports speak for all", func(state) bool { return len(unread()) == 0 })
}

// TestSharedObject_appearsInBothApplications makes two Applications of one cluster list the same object, which must appear in both.
func TestSharedObject_appearsInBothApplications(t *testing.T) {
	w := start(t)
	cluster := memory.ClusterName(3)
	shared := memory.Resource(cluster, memory.SetName(0), 0)
	w.server.Table().Relate(edge(memory.ApplicationUID(cluster, memory.SetName(1)), shared.UID))
	name := fmt.Sprint(shared.Data["name"])
	w.eventually("both Applications list the object", func(s state) bool {
		owners := 0
		for _, app := range s.of(cluster) {
			for _, resource := range app.Resources {
				if resource.Name == name {
					owners++
				}
			}
		}
		return owners == 2
	})
}
