// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/testkit/steps"
)

// limitAt is what a group might lose when it was last let lose something.
type limitAt struct {
	group Group
	at    time.Time
	most  int
}

// Whatever users, controllers and restarts do: in no window does a group, or the hub,
// lose more than its limit without an approval, and nothing stays held that keeps it.
func TestNoWindowLosesMore(t *testing.T) {
	r, n := steps.Random(t, 3000)
	w := newWorld(t, defaults)
	groups := []Group{set, other, {"team", ""}, {"another", "set"}}
	for i := range 30 {
		groups = append(groups, Group{"small", fmt.Sprint(i)})
	}
	for i, g := range groups {
		w.add(g, []int{200, 60, 12, 5}[min(i, 3)])
	}
	most := map[Group]int{}
	note := func() {
		for _, g := range append(groups, Group{}) {
			limit := w.ledger.settings.Group
			if g == (Group{}) {
				limit = w.ledger.settings.Hub
			}
			// What is there, and what has just been: N of the contract.
			lost := 0
			for i := len(w.gone) - 1; i >= 0 && w.now.Sub(w.gone[i].at) < 12*time.Minute; i-- {
				if d := w.gone[i]; d.counts(g) {
					lost++
				}
			}
			w.limits = append(w.limits, limitAt{g, w.now, limit.Of(w.deliveries(g) + lost)})
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
			w.decide(g, []Word{Approve, Hold, Undo}[r.IntN(3)], time.Duration(r.IntN(600))*time.Second)
		case k < 61:
			w.decide(Group{}, []Word{Approve, Hold, Undo}[r.IntN(3)], time.Duration(r.IntN(100))*time.Second)
		case k < 63:
			w.revoke(g, 1+r.IntN(3))
		case k < 68: // it is mended
			for _, g := range groups {
				w.spare(g, 1000)
			}
		case k < 70: // grace periods end
			for uid := range w.doomed {
				w.doomed[uid] = true
				w.look(uid)
			}
		}
		note()
		w.pass(time.Duration(r.IntN(12)) * time.Second)
	}
	w.check(append(groups, Group{}), most)
	w.words = map[Group]Decision{}
	for uid := range w.doomed {
		delete(w.doomed, uid)
		w.look(uid)
	}
	w.pass(time.Minute)
	for _, g := range groups {
		if why, held := w.ledger.held(Lane{Group: g}); held {
			t.Errorf("nothing is to be withdrawn, and %s is held: %+v", g, why)
		}
	}
}

// counts reports whether a departure counts for the limit of a group, or of the hub.
func (d departure) counts(g Group) bool {
	if g == (Group{}) {
		return !d.unlimited
	}
	return d.group == g && !d.approved
}

// check looks at each window that ends with a withdrawal.
func (w *world) check(groups []Group, most map[Group]int) {
	limits := map[Group][]limitAt{}
	for _, l := range w.limits {
		limits[l.group] = append(limits[l.group], l)
	}
	checked := 0
	for _, g := range groups {
		var window []departure
		for _, d := range w.gone {
			if !d.counts(g) {
				continue
			}
			window = append(window, d)
			for d.at.Sub(window[0].at) >= w.ledger.settings.Window {
				window = window[1:]
			}
			clear(most)
			for _, l := range limits[g] {
				if !l.at.Before(window[0].at.Add(-time.Minute)) && !l.at.After(d.at) {
					most[g] = max(most[g], l.most)
				}
			}
			if checked++; len(window) > most[g] {
				w.t.Fatalf("%s lost %d in the window that ends at %s, and might lose %d", g, len(window), d.at, most[g])
			}
		}
	}
	w.t.Logf("%d withdrawals checked", checked)
	if checked < 200 {
		w.t.Error("hardly anything was withdrawn")
	}
}
