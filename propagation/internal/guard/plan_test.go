// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"testing"
	"time"
)

var (
	set   = Group{"team", "guestbook"}
	other = Group{"team", "other"}
)

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		play   func(w *world)
		gone   int
		held   bool
	}{
		"few":     {reason: "as few as any group may lose go after a second", play: func(w *world) { w.doom(set, 10, true); w.pass(time.Second) }, gone: 10},
		"atOnce":  {reason: "but not before it", play: func(w *world) { w.doom(set, 10, true); w.plan() }},
		"share":   {reason: "a quarter goes once no more join", play: func(w *world) { w.doom(set, 25, true); w.pass(6 * time.Second) }, gone: 25},
		"gathers": {reason: "which takes five seconds", play: func(w *world) { w.doom(set, 25, true); w.pass(4 * time.Second) }},
		"more":    {reason: "one more than a quarter, and none goes", play: func(w *world) { w.doom(set, 26, true); w.pass(time.Hour) }, held: true},
		"addsUp": {reason: "what has gone in the window counts", play: func(w *world) {
			w.doom(set, 10, true)
			w.pass(10 * time.Second)
			w.doom(set, 16, true)
			w.pass(9 * time.Minute)
		}, gone: 10, held: true},
		"slides": {reason: "until it has slid out", play: func(w *world) {
			w.doom(set, 10, true)
			w.pass(10 * time.Second)
			w.doom(set, 16, true)
			w.pass(11 * time.Minute)
		}, gone: 26},
		"burst": {reason: "of a mass deletion at five a second only the least go", play: func(w *world) { w.burst(set, 100, 5) }, gone: 10, held: true},
		"flood": {reason: "of a faster one none", play: func(w *world) { w.burst(set, 100, 20) }, held: true},
		"drip": {reason: "who never ceases to join waits for two minutes at most", play: func(w *world) {
			for range 45 {
				w.doom(set, 1, true)
				w.pass(4 * time.Second)
			}
		}, held: true, gone: 10},
		"grace":        {reason: "those in a grace period count with the first that is due", play: func(w *world) { w.doom(set, 99, false); w.pass(time.Minute); w.doom(set, 1, true); w.pass(time.Minute) }, held: true},
		"graceAlone":   {reason: "and are no alarm by themselves", play: func(w *world) { w.doom(set, 100, false); w.pass(time.Hour) }},
		"comeBack":     {reason: "a hold ends with its cause", play: func(w *world) { w.doom(set, 50, true); w.pass(time.Minute); w.spare(set, 50); w.pass(time.Minute) }},
		"trickle":      {reason: "those who come back one by one do not let the rest go", play: func(w *world) { w.doom(set, 50, true); w.pass(10 * time.Second); w.back(set, 50) }},
		"someComeBack": {reason: "what then keeps the limit goes", play: func(w *world) { w.doom(set, 50, true); w.pass(10 * time.Second); w.spare(set, 30); w.pass(time.Minute) }, gone: 20},
		"hub": {reason: "many small groups are many, too", play: func(w *world) {
			for i := range 10 {
				g := Group{"team", fmt.Sprint("small", i)}
				w.add(g, 8)
				w.doom(g, 8, true)
			}
			w.pass(time.Minute)
		}, held: true},
		"approved": {reason: "nothing is held that is approved", play: func(w *world) { w.decide(set, Approve, time.Hour); w.doom(set, 100, true); w.pass(time.Second) }, gone: 100},
		"afterwards": {reason: "or is approved afterwards", play: func(w *world) {
			w.doom(set, 100, true)
			w.pass(time.Minute)
			w.decide(set, Approve, time.Hour)
			w.plan()
		}, gone: 100},
		"expired": {reason: "an approval ends by itself", play: func(w *world) {
			w.decide(set, Approve, time.Minute)
			w.pass(2 * time.Minute)
			w.doom(set, 100, true)
			w.pass(time.Minute)
		}, held: true},
		"hold":     {reason: "not even one goes while it is held on purpose", play: func(w *world) { w.decide(set, Hold, time.Hour); w.doom(set, 1, true); w.pass(time.Minute) }, held: true},
		"holdEnds": {reason: "and it goes afterwards", play: func(w *world) { w.decide(set, Hold, time.Hour); w.doom(set, 1, true); w.pass(time.Hour + time.Second) }, gone: 1},
		"undo": {reason: "undo withdraws nothing", play: func(w *world) {
			w.doom(set, 100, true)
			w.pass(time.Minute)
			w.decide(set, Undo, time.Hour)
			w.pass(time.Minute)
		}, held: true},
		"tookBack": {reason: "a hold takes back what was let go a moment ago", play: func(w *world) {
			w.doom(set, 1, true)
			w.now = w.now.Add(2 * time.Second)
			p := w.ledger.Plan(Hub{Deliveries: w.deliveries}, w.now)
			w.ledger.Carry(p)
			w.decide(set, Hold, time.Hour)
			w.pass(time.Minute)
		}, held: true},
		"approvedDoNotCount": {reason: "after an approved removal another may lose its share", play: func(w *world) {
			w.decide(set, Approve, time.Hour)
			w.doom(set, 50, true)
			w.plan()
			w.words = map[Group]Decision{}
			w.doom(set, 10, true)
			w.pass(2 * time.Second)
		}, gone: 60},
		"restart": {reason: "a restart forgets neither hold nor window", play: func(w *world) {
			w.doom(set, 20, true)
			w.pass(10 * time.Second)
			w.restart()
			w.doom(set, 6, true)
			w.pass(time.Minute)
			w.restart()
			w.pass(time.Minute)
		}, gone: 20, held: true},
		"others": {reason: "the hold of one group is not another's", play: func(w *world) {
			w.doom(set, 30, true)
			w.pass(time.Minute)
			w.doom(other, 2, true)
			w.pass(time.Minute)
		}, gone: 2, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, defaults)
			w.add(set, 100)
			w.add(other, 100)
			c.play(w)
			w.want(c.reason, c.gone, c.held, set)
		})
	}
}

func TestWholeHubIsHeld(t *testing.T) {
	w := newWorld(t, defaults)
	for i := range 20 {
		w.add(Group{"team", fmt.Sprint("small", i)}, 8)
		w.doom(Group{"team", fmt.Sprint("small", i)}, 8, true)
	}
	w.pass(time.Minute)
	w.want("twenty groups of eight lose all", 0, true, Group{"team", "small3"})
	w.decide(Group{"team", "small3"}, Approve, time.Hour)
	w.plan()
	w.want("one of them is approved", 8, false, Group{"team", "small3"})
}

func TestNoLimitDoesNotWait(t *testing.T) {
	w := newWorld(t, Settings{Group: Limit{Percent: 100, Least: 0}, Hub: Limit{Percent: 100, Least: 0}, Window: time.Minute})
	w.add(set, 100)
	w.doom(set, 100, true)
	w.plan()
	w.want("limits are off", 100, false, set)
	if w.saved != nil {
		t.Errorf("it was recorded: %v", w.saved)
	}
}

func TestNothingLeastAsksEachTime(t *testing.T) {
	w := newWorld(t, Settings{Group: Limit{Percent: 0, Least: 0}, Hub: Limit{Percent: 100, Least: 0}, Window: time.Minute})
	w.add(set, 100)
	w.doom(set, 1, true)
	w.pass(time.Hour)
	w.want("0% and least 0", 0, true, set)
}
