// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/steps"
)

// census is the number of deliveries of a group at a time.
type census struct {
	at time.Time
	n  int
}

// Users, controllers and restarts change the world at random. In no window does a lane lose more than its
// limit of the most deliveries in that window, unless approved. The same applies to all lanes of a kind
// together, with the limit of the hub. Allowed deletions stay allowed after a restart. No hold remains that
// is within its limit.
func TestRandomSteps_keepTheLimitInEveryWindow(t *testing.T) {
	r, n := steps.Random(t, 1500)
	w := newWorld(t, defaults)
	groups := []decide.Group{set, other, {Namespace: "team"}, {Namespace: "another", Set: "set"}}
	for i := range 30 {
		groups = append(groups, decide.Group{Namespace: "small", Set: fmt.Sprint(i)})
	}
	for i, g := range groups {
		w.add(g, []int{200, 60, 12, 5}[min(i, 3)])
	}
	counts := map[decide.Group][]census{}
	note := func() {
		existing := map[decide.Group]int{}
		for _, d := range w.live {
			existing[d.group]++
			existing[hub]++
		}
		for _, g := range append(groups, hub) {
			if list := counts[g]; len(list) == 0 || list[len(list)-1].n != existing[g] {
				counts[g] = append(list, census{w.now, existing[g]})
			}
		}
	}
	for range n {
		g := groups[r.IntN(len(groups))]
		switch k := r.IntN(100); {
		case k < 30:
			w.doom(g, 1+r.IntN(3), true)
		case k < 34:
			w.doom(g, 1+r.IntN(200), r.IntN(2) == 0)
		case k < 50:
			w.spare(g, 1+r.IntN(40))
		case k < 56:
			w.add(g, 1+r.IntN(20))
		case k < 58:
			w.restart()
		case k < 60:
			w.decide(g, []decide.Effect{decide.Approve, decide.Hold, decide.Undo}[r.IntN(3)], time.Duration(r.IntN(600))*time.Second)
		case k < 61:
			w.decide(hub, []decide.Effect{decide.Approve, decide.Hold, decide.Undo}[r.IntN(3)], time.Duration(r.IntN(100))*time.Second)
		case k < 63:
			w.revoke(g, 1+r.IntN(3))
		case k < 64:
			w.revoke(g, 1+r.IntN(60))
		case k < 68: // the cause of all deletions is fixed
			for _, g := range groups {
				w.spare(g, 1000)
			}
		case k < 70: // grace periods end
			for _, uid := range w.uids() {
				w.live[uid].due = true
				w.look(uid)
			}
		case k < 72: // agents become unavailable, or available
			w.slow = !w.slow
			w.lookAtAll()
		case k < 74: // a deletion changes its lane
			w.some(g, r.IntN(5), goes, func(d *delivery) { d.lane = admin(d.group) })
		case k < 76:
			w.some(g, r.IntN(10), goes, func(d *delivery) { d.paused = !d.paused })
		}
		note()
		w.pass(time.Duration(r.IntN(12)) * time.Second)
		note()
		w.rests()
		w.restartKeepsAllowed(r.IntN(50) == 0)
	}
	w.check(counts)
	w.slow = false
	w.unsay()
	w.holdsNoMore()
	for _, g := range groups {
		w.spare(g, 1000)
	}
	w.pass(time.Minute)
	for lane, record := range w.ledger.records {
		if record.Held != nil {
			t.Errorf("nothing is to be withdrawn, and %v is held: %+v", lane, *record.Held)
		}
	}
}

// rests fails if a second evaluation changes the records. The budget would store and report them again and
// again.
func (w *world) rests() {
	w.t.Helper()
	w.evaluate()
	if j := evaluate(w.ledger.state(w.words[hub].Effect == decide.Approve, func(string) int { return 40 }, w.now)); j.changed {
		w.t.Fatalf("at %s a second evaluation has changed the records, and allows %d", w.now, len(j.allow))
	}
}

// holdsNoMore waits for an hour without changes, and fails if a lane within its limit is still held.
func (w *world) holdsNoMore() {
	w.t.Helper()
	w.pass(time.Hour)
	s := w.ledger.state(false, func(string) int { return 40 }, w.now)
	pending := map[decide.Lane]int{}
	for _, e := range s.ends {
		pending[e.lane]++
	}
	for lane, record := range s.records {
		most, n := defaults.Group.Of(s.deliveries(lane)), pending[lane]
		if lane.Group == hub {
			most, n = defaults.Group.Least, 0
			for _, g := range record.Together {
				n += pending[decide.Lane{Kind: lane.Kind, Group: g}]
			}
		}
		if record.Held != nil && n <= most {
			w.t.Errorf("%v holds %d, and might lose %d", lane, n, most)
		}
	}
}

// restartKeepsAllowed restarts the ledger, and fails if an allowed deletion is no longer allowed.
func (w *world) restartKeepsAllowed(now bool) {
	if !now {
		return
	}
	before := map[types.UID]bool{}
	for uid, known := range w.ledger.works {
		before[uid] = known.end != nil && known.end.allowed
	}
	slow := w.slow
	w.slow = true
	w.restart()
	for uid, was := range before {
		if is := w.ledger.works[uid].end; was && (is == nil || !is.allowed) {
			w.t.Fatalf("%s was allowed, and is not after a restart", uid)
		}
	}
	w.slow = slow
}

// check compares each window that ends with an allowed deletion with the limit.
func (w *world) check(counts map[decide.Group][]census) {
	w.t.Helper()
	windows, checked := map[decide.Lane][]allowance{}, 0
	for _, d := range w.allowed {
		for _, lane := range []decide.Lane{d.lane, {Kind: d.lane.Kind}} {
			of := defaults.Group
			if lane.Group == hub {
				of = defaults.Hub
			}
			if d.unlimited || d.approved && lane.Group != hub {
				continue
			}
			window := append(windows[lane], d)
			for d.at.Sub(window[0].at) >= defaults.Window {
				window = window[1:]
			}
			windows[lane] = window
			if most := of.Of(most(counts[lane.Group], window[0].at.Add(-time.Minute), d.at)); len(window) > most {
				w.t.Fatalf("%v lost %d in the window that ends at %s, and might lose %d", lane, len(window), d.at, most)
			}
			checked++
		}
	}
	w.t.Logf("%d ends checked", checked)
	if checked < 200 {
		w.t.Error("hardly anything was withdrawn")
	}
}

// most returns the largest number of deliveries between two times.
func most(list []census, from, to time.Time) (n int) {
	for i, c := range list {
		if ended := i+1 < len(list) && list[i+1].at.Before(from); !ended && !c.at.After(to) {
			n = max(n, c.n)
		}
	}
	return n
}
