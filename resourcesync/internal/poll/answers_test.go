// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// decodes polls and checks how many answers to batches were decoded.
func (w *world) decodes(reason string, want int) {
	w.t.Helper()
	before := w.decoded
	w.poll()
	if got := w.decoded - before; got != want {
		w.t.Errorf("%s: %d answers were decoded, want %d", reason, got, want)
	}
}

func TestUnchangedAnswersAreNotDecodedAgain(t *testing.T) {
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

// One batch of the two changes; the other one is not looked at.
func TestOnlyTheChangedBatchIsDecoded(t *testing.T) {
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

// Each case does something to what is known; then the answer of before comes once
// more. It is to be judged, for what is known is no longer what it said.
func TestWhatComesBetweenIsNotForgotten(t *testing.T) {
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
		decoded map[int]int // answers to be judged, by the size of batches
	}{
		{
			"search was away: the same answer makes fresh what was dated, and need not be decoded for that",
			func(w *world) { w.down = &search.Error{Kind: search.KindDatabase} },
			both(ab, 40*time.Second),
			map[int]int{50: 0, 1: 0},
		},
		{
			"the batch failed: its clusters are asked about one by one, two new batches, since search may fail for one of them",
			func(w *world) {
				w.bent = func([]string, *search.Result) error { return &search.Error{Kind: search.KindIncomplete} }
			},
			both(ab, 40*time.Second),
			map[int]int{50: 2, 1: 0},
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
			both("(ConfigMap/a) (ConfigMap/b) ", fresh),
			map[int]int{50: 1, 1: 2},
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

// A second read of a cluster is read in earnest, even when it says what the last
// good answer did.
func TestConfirmationIsDecoded(t *testing.T) {
	in(t, func(w *world) {
		w.poller.Options.BatchSize = 1
		w.poll()
		cut := true
		w.bent = func(clusters []string, r *search.Result) error {
			if cut && clusters[0] == "c1" {
				r.Related, cut = nil, false
			}
			return nil
		}
		w.decodes("one that is cut and one that is not", 2)
		w.expect("the cut is nothing", both(ab, fresh))
		w.decodes("only a first read is remembered", 1)
		w.decodes("nothing has changed", 0)
	})
}

// What an odd answer says is known as well, although it is not remembered.
func TestAnOddAnswerMakesTheLastOneNew(t *testing.T) {
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
		w.decodes("two that lack something now, and one that confirms both", 3)
		w.expect("as before", both(ab, fresh))
	})
}

func TestLast(t *testing.T) {
	p := &Poller{answers: map[string]*answer{}}
	digest := func(n int) search.Digest { return search.Digest{Count: n} }
	p.recordAnswer(answer{clusters: []string{"a", "b", "c"}, digest: digest(1)})
	p.recordAnswer(answer{clusters: []string{"d"}, digest: digest(2)})
	p.recordAnswer(answer{clusters: []string{"e"}})
	steps := []struct {
		reason string
		change func()
		want   map[string]search.Digest // by the names of the batch
	}{
		{"the whole list counts", func() {}, map[string]search.Digest{"a b c": digest(1), "d": digest(2), "a b": {}, "b c": {}, "a b c d": {}, "e": {}, "x": {}}},
		{"another batch has told of b", func() { p.recordAnswer(answer{clusters: []string{"b"}, digest: digest(3)}) }, map[string]search.Digest{"a b c": {}, "b": digest(3), "d": digest(2)}},
		{"d is not what it was", func() { p.forgetAnswerLocked("d") }, map[string]search.Digest{"d": {}, "b": digest(3)}},
		{"what was is told once more", func() { p.recordAnswer(answer{clusters: []string{"a", "b", "c"}, digest: digest(1)}) }, map[string]search.Digest{"a b c": digest(1), "b": {}}},
		{"one of them is not what it was", func() { p.forgetAnswerLocked("c") }, map[string]search.Digest{"a b c": {}}},
	}
	for _, s := range steps {
		s.change()
		for batch, want := range s.want {
			if got := p.lastAnswer(strings.Fields(batch)).digest; got != want {
				t.Errorf("%s: %v of batch %q, want %v", s.reason, got, batch, want)
			}
		}
	}
}

// What a smaller batch has told is what is known; the answer that the larger one
// gave before is news then.
func TestAnotherBatchMakesAnAnswerNew(t *testing.T) {
	in(t, func(w *world) {
		w.poller.Options.BatchSize = 1
		w.apps["c2"]["app"] = append(w.apps["c2"]["app"], "Secret/s")
		w.decodes("two batches", 2)
		w.apps["c2"]["app"] = []string{"ConfigMap/a", "ConfigMap/b"}
		w.poller.Options.BatchSize = 50
		w.decodes("the first answer of all, in which something is missing now, and its confirmation", 2)
		w.expect("as before", both(ab, fresh))
	})
}

func TestARestartDecodesEverything(t *testing.T) {
	in(t, func(w *world) {
		w.decodes("nothing has changed", 0)
		w.restart()
		w.decodes("a new process", 1)
		w.decodes("nothing has changed", 0)
	})
}

// An odd row is counted and told with every poll.
func TestOddAnswersAreDecodedEachTime(t *testing.T) {
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

// What one batch leaves out is believed in the end because another one has relations,
// also when both only say the same again.
func TestRepeatedAnswersHaveRelations(t *testing.T) {
	in(t, func(w *world) {
		w.poller.Options.BatchSize = 1
		w.poll()
		w.apps["c1"]["app"] = nil
		w.extra["c1"] = []string{"ConfigMap/a", "ConfigMap/b"} // not the Application's any more
		w.bent = func(clusters []string, r *search.Result) error {
			if clusters[0] == "c1" {
				r.Related = nil
			}
			return nil
		}
		w.decodes("the doubtful answer, twice", 2)
		w.decodes("once more: it is what is known then", 1)
		for range 28 {
			w.decodes("nothing has changed", 0)
			w.expect("held", map[string]row{"c1/app": {"(ConfigMap/a) (ConfigMap/b) ", fresh}, "c2/app": {ab, fresh}})
		}
		w.polls(2)
		w.expect("believed", map[string]row{"c1/app": {"", fresh}, "c2/app": {ab, fresh}})
		w.decodes("and still what that answer says", 0)
	})
}
