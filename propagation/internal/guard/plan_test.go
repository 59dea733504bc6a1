// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/limit"
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
			w.pass(11 * time.Minute)
			w.doom(set, 16, true)
			w.pass(time.Minute)
		}, gone: 26},
		"heldSlides": {reason: "which ends no hold", play: func(w *world) {
			w.doom(set, 10, true)
			w.pass(10 * time.Second)
			w.doom(set, 16, true)
			w.pass(11 * time.Minute)
		}, gone: 10, held: true},
		"burst": {reason: "of a mass deletion at five a second only the least go", play: func(w *world) { w.burst(set, 100, 5) }, gone: 10, held: true},
		"flood": {reason: "of a faster one none", play: func(w *world) { w.burst(set, 100, 20) }, held: true},
		"drip": {reason: "those who never cease to join wait for a minute at most", play: func(w *world) {
			for range 45 {
				w.doom(set, 1, true)
				w.pass(4 * time.Second)
			}
		}, held: true, gone: 25},
		"grace":        {reason: "those in a grace period count with the first that is due", play: func(w *world) { w.doom(set, 99, false); w.pass(time.Minute); w.doom(set, 1, true); w.pass(time.Minute) }, held: true},
		"graceAlone":   {reason: "and are no alarm by themselves", play: func(w *world) { w.doom(set, 100, false); w.pass(time.Hour) }},
		"comeBack":     {reason: "a hold ends with its cause", play: func(w *world) { w.doom(set, 50, true); w.pass(time.Minute); w.spare(set, 50); w.pass(time.Minute) }},
		"trickle":      {reason: "those who come back one by one do not let the rest go", play: func(w *world) { w.doom(set, 50, true); w.pass(10 * time.Second); w.back(set, 50) }},
		"someComeBack": {reason: "nor do those who come back together", play: func(w *world) { w.doom(set, 50, true); w.pass(10 * time.Second); w.spare(set, 30); w.pass(time.Hour) }, held: true},
		"approved":     {reason: "nothing is held that is approved", play: func(w *world) { w.decide(set, Approve, time.Hour); w.doom(set, 50, true); w.pass(time.Second) }, gone: 50},
		"afterwards": {reason: "or is approved afterwards", play: func(w *world) {
			w.doom(set, 50, true)
			w.pass(time.Minute)
			w.decide(set, Approve, time.Hour)
			w.plan()
		}, gone: 50},
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
			p := w.ledger.Plan(w.hub(), w.now)
			w.ledger.Apply(p)
			w.decide(set, Hold, time.Hour)
			w.pass(time.Minute)
		}, held: true},
		"approvedDoNotCount": {reason: "after an approved removal another may lose its share", play: func(w *world) {
			w.decide(set, Approve, time.Hour)
			w.doom(set, 40, true)
			w.pass(time.Second)
			w.words = map[Group]Decision{}
			w.doom(set, 10, true)
			w.pass(2 * time.Second)
		}, gone: 50},
		"restart": {reason: "a restart forgets neither hold nor window", play: func(w *world) {
			w.doom(set, 20, true)
			w.pass(10 * time.Second)
			w.restart()
			w.doom(set, 6, true)
			w.pass(time.Minute)
			w.restart()
			w.pass(time.Minute)
		}, gone: 20, held: true},
		"revoked": {reason: "the ApplicationSet's hold does not keep what is revoked", play: func(w *world) {
			w.decide(set, Hold, time.Hour)
			w.revoke(set, 3)
			w.pass(2 * time.Second)
			w.words = map[Group]Decision{}
			w.plan()
		}, gone: 3},
		"revokedTooMuch": {reason: "and its approval does not lift the limit for it", play: func(w *world) {
			w.decide(set, Approve, time.Hour)
			w.revoke(set, 30)
			w.pass(10 * time.Second)
			w.words = map[Group]Decision{}
			w.plan()
		}, held: true},
		"revokedByAll": {reason: "the administrator's word counts for it", play: func(w *world) {
			w.decide(set, Hold, time.Hour)
			w.decide(Group{}, Approve, time.Hour)
			w.revoke(set, 30)
			w.plan()
			w.words = map[Group]Decision{}
		}, gone: 30},
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

// small has twenty groups of eight.
func small(w *world) (groups []Group) {
	for i := range 20 {
		g := Group{"team", fmt.Sprint("small", i)}
		w.add(g, 8)
		groups = append(groups, g)
	}
	return groups
}

func TestWholeHubIsHeld(t *testing.T) {
	w := newWorld(t, defaults)
	groups := small(w)
	for _, g := range groups {
		w.doom(g, 8, true)
	}
	w.pass(time.Minute)
	w.want("twenty groups of eight lose all", 0, true, groups[3])
	if why, _ := w.ledger.held(Lane{Group: groups[3]}); why.Group != (Group{}) || why.Pending != 160 {
		t.Errorf("it is held by %+v", why)
	}
	w.decide(groups[3], Approve, time.Hour)
	w.pass(time.Minute)
	w.want("an approval of one of them lifts its own limit only", 0, true, groups[3])
	w.decide(Group{}, Approve, time.Hour)
	w.plan()
	w.want("that of the whole hub lifts the hub's", 160, false, groups[3])
	w.words = map[Group]Decision{}
	w.add(groups[0], 8)
	w.doom(groups[0], 8, true)
	w.pass(2 * time.Second)
	w.want("what was approved for the whole hub does not count for it", 168, false, groups[0])
}

// An approval of a group is no way around the limit of the hub.
func TestApprovedGroupsCountForTheHub(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.add(other, 100)
	w.decide(set, Approve, time.Hour)
	w.doom(set, 51, true)
	w.pass(time.Minute)
	w.want("one more than the hub may lose", 0, true, set)
	w.spare(set, 51)
	w.plan()
	w.doom(set, 45, true)
	w.pass(2 * time.Second)
	w.want("within the hub's limit", 45, false, set)
	w.doom(other, 6, true)
	w.pass(time.Minute)
	w.want("which it has used up for others", 45, true, other)
}

// However much of a group is held, and by whatever limit: others go on.
func TestHeldGroupsDoNotCountForTheHub(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.add(other, 100)
	w.doom(set, 100, true)
	w.pass(time.Minute)
	w.doom(other, 2, true)
	w.pass(time.Minute)
	w.want("a hundred of another group are held", 2, false, other)
	if why, _ := w.ledger.held(Lane{Group: set}); why.Group != set {
		t.Errorf("the hundred are held by %+v", why)
	}
	groups := small(w)
	for _, g := range groups {
		w.doom(g, 8, true)
	}
	w.pass(time.Minute)
	w.want("many small groups are held together", 2, true, groups[0])
	w.doom(other, 3, true)
	w.pass(time.Minute)
	w.want("which does not concern another", 5, false, other)
	w.restart()
	w.doom(other, 1, true)
	w.pass(time.Minute)
	w.want("nor after a restart", 6, false, other)
	w.want("which holds them still", 6, true, groups[0])
}

// A group that was noted after the decisions were read is not judged without any.
func TestGroupWithoutDecisionWaits(t *testing.T) {
	w := newWorld(t, Settings{Group: limit.Limit{Percent: 100}, Hub: limit.Limit{Percent: 100}, Window: time.Minute})
	w.add(set, 1)
	hub := w.hub()
	w.doom(set, 1, true)
	w.decide(set, Hold, time.Hour)
	if concerned := w.ledger.Apply(w.ledger.Plan(hub, w.now)); len(concerned) > 0 {
		t.Errorf("%v may go", concerned)
	}
	w.pass(time.Minute)
	w.want("it is held by a word", 0, true, set)
}

func TestNoLimitDoesNotWait(t *testing.T) {
	w := newWorld(t, Settings{Group: limit.Limit{Percent: 100, Least: 0}, Hub: limit.Limit{Percent: 100, Least: 0}, Window: time.Minute})
	w.add(set, 100)
	w.doom(set, 100, true)
	w.plan()
	w.want("limits are off", 100, false, set)
	if w.saved != nil {
		t.Errorf("it was recorded: %v", w.saved)
	}
}

func TestNothingLeastAsksEachTime(t *testing.T) {
	w := newWorld(t, Settings{Group: limit.Limit{Percent: 0, Least: 0}, Hub: limit.Limit{Percent: 100, Least: 0}, Window: time.Minute})
	w.add(set, 100)
	w.doom(set, 1, true)
	w.pass(time.Hour)
	w.want("0% and least 0", 0, true, set)
}
