// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// decodes polls once and checks how many answers to batches were decoded.
func (w *world) decodes(reason string, want int) {
	w.t.Helper()
	before := w.decoded
	w.poll()
	if got := w.decoded - before; got != want {
		w.t.Errorf("%s: %d answers were decoded, want %d", reason, got, want)
	}
}

func TestAnswers_areNotDecodedAgainIfUnchanged(t *testing.T) {
	in(t, func(w *world) {
		asked := w.asked
		for range 3 {
			w.decodes("nothing has changed", 0)
		}
		if w.asked != asked+3 {
			t.Errorf("%d requests: search is to be asked all the same", w.asked-asked)
		}
		w.expect("and all is true now", both(ab, fresh))
		w.down = &search.Error{Kind: search.KindDatabase}
		w.polls(3)
		w.expect("as true as when it was last repeated, not as when it was decoded", both(ab, 40*time.Second))
	})
}

// If one of two batches changes, only its answer is decoded.
func TestAnswers_areDecodedOnlyForTheChangedBatch(t *testing.T) {
	in(t, func(w *world) {
		w.poller.Options.BatchSize = 1
		w.decodes("other batches", 2)
		w.decodes("the same ones", 0)
		w.apps["c1"]["app"] = append(w.apps["c1"]["app"], "Secret/s")
		w.decodes("one has changed", 1)
		w.expect("and it shows", map[string]row{"c1/app": {ab + "Secret/s ", fresh}, "c2/app": {ab, fresh}})
		w.decodes("nothing has changed since", 0)
	})
}

// Each case changes the known state, and then search sends the former answer again. The poller must decode
// it if the known state no longer agrees with it.
func TestAnswers_areDecodedAgainAfterAChange(t *testing.T) {
	bend := func(bend func(r *search.Result)) func(w *world) {
		return func(w *world) {
			w.bent = func(_ []string, r *search.Result) error { bend(r); return nil }
		}
	}
	without := func(lost func(it search.Item) bool) func(w *world) {
		return bend(func(r *search.Result) { r.Related = slices.DeleteFunc(r.Related, lost) })
	}
	tests := []struct {
		reason  string
		between func(w *world)
		during  map[string]row
		decoded map[int]int // answers that are decoded, by the size of batches
	}{
		{
			"search was away: the same answer makes fresh what was dated, and need not be decoded for that",
			func(w *world) { w.down = &search.Error{Kind: search.KindDatabase} },
			both(ab, 40*time.Second),
			map[int]int{50: 0, 1: 0},
		},
		{
			"every request failed: that is held against no cluster",
			func(w *world) {
				w.bent = func([]string, *search.Result) error { return &search.Error{Kind: search.KindIncomplete} }
			},
			both(ab, 40*time.Second),
			map[int]int{50: 0, 1: 0},
		},
		{
			"one cluster's relations were cut",
			without(func(it search.Item) bool { return it.Cluster == "c1" && it.Name == "b" }),
			map[string]row{"c1/app": {"ConfigMap/a (ConfigMap/b) ", fresh}, "c2/app": {ab, fresh}},
			map[int]int{50: 1, 1: 1},
		},
		{
			"all relations were cut",
			bend(func(r *search.Result) { r.Related = nil }),
			both(ab, 40*time.Second),
			map[int]int{50: 0, 1: 0},
		},
		{
			"a cluster was not visible",
			func(w *world) { w.hidden["c1"] = true },
			map[string]row{"c1/app": {ab, 40 * time.Second}, "c2/app": {ab, fresh}},
			map[int]int{50: 1, 1: 1},
		},
		{
			"a cluster was gone",
			func(w *world) { w.view.Clusters = []string{"c2"} },
			map[string]row{"c2/app": {ab, fresh}},
			map[int]int{50: 1, 1: 1},
		},
		{
			"one row was odd",
			bend(func(r *search.Result) { r.Odd = []string{"a row"} }),
			both(ab, fresh),
			map[int]int{50: 1, 1: 2},
		},
		{
			"one Application was odd",
			bend(func(r *search.Result) {
				r.Items = append(r.Items, search.Item{UID: "c1/odd", Cluster: "c1", Kind: "Application", Name: "odd", Hosting: "other"})
			}),
			both(ab, fresh),
			map[int]int{50: 1, 1: 2},
		},
	}
	for _, tc := range tests {
		for size, want := range tc.decoded {
			t.Run(fmt.Sprintf("%s, batches of %d", tc.reason, size), func(t *testing.T) {
				in(t, func(w *world) {
					w.poller.Options.BatchSize = size
					w.poll()
					w.decodes("nothing has changed", 0)
					view := w.view
					tc.between(w)
					w.polls(3)
					w.expect("in between", tc.during)
					w.down, w.bent, w.hidden, w.view = nil, nil, map[string]bool{}, view
					w.decodes("the answer of before", want)
					w.expect("all is as before", both(ab, fresh))
					w.decodes("and again", 0)
				})
			})
		}
	}
}

// The content of an odd answer is used, but the answer is not remembered. So the former answer is decoded
// again.
func TestAnswers_areDecodedAgainAfterAnOddOne(t *testing.T) {
	in(t, func(w *world) {
		w.poller.Options.BatchSize = 1
		w.poll()
		w.bent = func(_ []string, r *search.Result) error {
			r.Odd = []string{"a row"}
			for _, it := range r.Items {
				r.Related = append(r.Related, object(it.Cluster, "Secret/s", it.UID))
			}
			return nil
		}
		w.poll()
		w.expect("grown", both(ab+"Secret/s ", fresh))
		w.bent = nil
		w.decodes("two that lack something now", 2)
		w.expect("what they lack is held", both(ab+"(Secret/s) ", fresh))
	})
}

// A smaller batch may have updated the known state. A larger batch's former answer is then decoded again.
func TestAnswers_areDecodedAgainForAnotherBatch(t *testing.T) {
	in(t, func(w *world) {
		w.poller.Options.BatchSize = 1
		w.apps["c2"]["app"] = append(w.apps["c2"]["app"], "Secret/s")
		w.decodes("two batches", 2)
		w.apps["c2"]["app"] = []string{"ConfigMap/a", "ConfigMap/b"}
		w.poller.Options.BatchSize = 50
		w.decodes("the first answer of all, in which something is missing now", 1)
		w.expect("held", map[string]row{"c1/app": {ab, fresh}, "c2/app": {ab + "(Secret/s) ", fresh}})
	})
}

func TestRestart_decodesEverything(t *testing.T) {
	in(t, func(w *world) {
		w.decodes("nothing has changed", 0)
		w.restart()
		w.decodes("a new process", 1)
		w.decodes("nothing has changed", 0)
	})
}

// An odd row is counted and logged in every poll.
func TestAnswers_areDecodedEachTimeIfOdd(t *testing.T) {
	in(t, func(w *world) {
		w.bent = func(_ []string, r *search.Result) error {
			r.Items = append(r.Items, search.Item{UID: "c1/odd", Cluster: "c1", Kind: "Application", Name: "odd", Hosting: "other"})
			return nil
		}
		for range 3 {
			w.decodes("an odd row", 1)
		}
	})
}
