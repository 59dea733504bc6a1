// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

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

// TestHalfFails fails every request about two of the four clusters: those two
// keep what is known and say how old it is, the others stay current.
func TestHalfFails(t *testing.T) {
	w := start(t, "--search-batch-size=1")
	failing, working := names(2, 3), names(0, 1)
	from := w.polled()
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

// TestEveryOtherFails fails every other request, whatever it asks: what fails is
// tried again, and nothing is lost.
func TestEveryOtherFails(t *testing.T) {
	w := start(t, "--search-batch-size=1")
	w.faults(search.Faults{DatabaseDown: true, Only: func(r search.Request) bool { return r.Number%2 == 0 }})
	w.witness.always(whole)
	w.server.Table().Put(changed())
	w.eventually("the change shows", hasCondition)
}

// TestCutShort gets answers with status 200 and no error that are not whole.
func TestCutShort(t *testing.T) {
	world := start(t)
	for _, test := range []struct {
		reason string
		faults search.Faults
	}{
		{"count and items differ", search.Faults{CutItems: true, ItemsKept: .5}},
		{"there are no items where some were", search.Faults{CutItems: true}},
		{"there are no relations", search.Faults{CutRelated: true}},
		{"some clusters' nodes are missing", search.Faults{CutRelated: true, RelatedKept: .5}},
		{"nothing in the answer tells that it is cut", search.Faults{CutRelated: true, RelatedKept: .5, NodesKept: true}},
		{"fine-grained access control takes everything away", search.Faults{FineGrained: true}},
		{"one cluster's rows are gone", search.Faults{Lost: names(1)}},
		{"a managed cluster is taken for the hub", search.Faults{PseudoNodeFirst: true}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			w := world.in(t)
			from := w.polled()
			w.witness.always(whole)
			to := w.faults(test.faults)
			w.witness.always(all(whole, aged(from, to)))
			w.eventually("some data is said to be old", func(s state) bool { return s.stale() > 0 })
			w.awaitPolls(2)
			w.faults(search.Faults{})
			w.eventually("all is new again", func(s state) bool { return s.stale() == 0 })
			w.witness.always(nil)
		})
	}
}

// TestRealLoss takes away what really goes: it must go from the reports too.
func TestRealLoss(t *testing.T) {
	w := start(t)
	goes := func(what string, apps, resources int) {
		t.Helper()
		w.eventually(what, func(s state) bool { return s.apps() == apps && s.resources() == resources && s.stale() == 0 })
	}
	table := w.server.Table()
	table.Delete(memory.Resource(memory.ClusterName(0), memory.SetName(0), 0).UID)
	goes("a resource has gone", 8, 23)
	table.Delete(memory.Application(memory.ClusterName(1), memory.SetName(0)).UID)
	for i := range fleet.Resources {
		table.Delete(memory.Resource(memory.ClusterName(1), memory.SetName(0), i).UID)
	}
	goes("an Application has gone", 7, 20)
}

// TestShared lets two Applications of one cluster list the same object: it
// belongs to both.
func TestShared(t *testing.T) {
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
