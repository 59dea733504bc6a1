// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

func TestEvaluate(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		play   func(w *world)
		gone   int
		held   bool
	}{
		"few":    {reason: "as few as any lane may lose go after a second", play: func(w *world) { w.doom(set, 10, true); w.pass(time.Second) }, gone: 10},
		"atOnce": {reason: "but not before it", play: func(w *world) { w.doom(set, 10, true); w.evaluate() }},
		"share":  {reason: "a quarter goes once no more join", play: func(w *world) { w.doom(set, 25, true); w.pass(6 * time.Second) }, gone: 25},
		"slowly": {reason: "none goes while others still join", play: func(w *world) {
			for range 6 {
				w.doom(set, 5, true)
				w.now = w.now.Add(900 * time.Millisecond)
				w.pass(0)
			}
			w.pass(time.Minute)
		}, held: true},
		"fewSlowly": {reason: "a few go when none has joined for a second", play: func(w *world) {
			for range 10 {
				w.doom(set, 1, true)
				w.now = w.now.Add(900 * time.Millisecond)
				w.pass(0)
			}
			w.pass(time.Second)
		}, gone: 10},
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
		"heldSlides": {reason: "which ends a hold by itself", play: func(w *world) {
			w.doom(set, 10, true)
			w.pass(10 * time.Second)
			w.doom(set, 16, true)
			w.pass(11 * time.Minute)
		}, gone: 26},
		"burst": {reason: "of a mass deletion at five a second only the least go", play: func(w *world) { w.burst(set, 100, 5) }, gone: 10, held: true},
		"flood": {reason: "of a faster one none", play: func(w *world) { w.burst(set, 100, 20) }, held: true},
		"drip": {reason: "those who never cease to join wait for a minute at most, and then are more than may go", play: func(w *world) {
			for range 45 {
				w.doom(set, 1, true)
				w.pass(4 * time.Second)
			}
		}, held: true, gone: 25},
		"grace":      {reason: "those in a grace period count with the first that is due", play: func(w *world) { w.doom(set, 99, false); w.pass(time.Minute); w.doom(set, 1, true); w.pass(time.Minute) }, held: true},
		"graceAlone": {reason: "and are no alarm by themselves", play: func(w *world) { w.doom(set, 100, false); w.pass(time.Hour) }},
		"comeBack":   {reason: "a hold ends with its cause", play: func(w *world) { w.doom(set, 50, true); w.pass(time.Minute); w.spare(set, 50); w.pass(time.Minute) }},
		"trickle":    {reason: "those who come back one by one do not let the rest go", play: func(w *world) { w.doom(set, 50, true); w.pass(10 * time.Second); w.back(set, 50) }},
		"manyComeBack": {reason: "nor do those who come back together, for a minute", play: func(w *world) {
			w.doom(set, 50, true)
			w.pass(2 * time.Minute)
			w.spare(set, 30)
			w.pass(59 * time.Second)
		}, held: true},
		"restIsFew": {reason: "the rest goes after a quiet minute when the limit has room for it", play: func(w *world) {
			w.doom(set, 50, true)
			w.pass(2 * time.Minute)
			w.spare(set, 30)
			w.pass(61 * time.Second)
		}, gone: 20},
		"restIsMany": {reason: "and not when it has none", play: func(w *world) {
			w.doom(set, 50, true)
			w.pass(2 * time.Minute)
			w.spare(set, 24)
			w.pass(time.Hour)
		}, held: true},
		"approved": {reason: "nothing is held that is approved", play: func(w *world) { w.decide(set, decide.Approve, time.Hour); w.doom(set, 50, true); w.pass(time.Second) }, gone: 50},
		"afterwards": {reason: "or is approved afterwards", play: func(w *world) {
			w.doom(set, 50, true)
			w.pass(time.Minute)
			w.decide(set, decide.Approve, time.Hour)
			w.evaluate()
		}, gone: 50},
		"expired": {reason: "an approval ends by itself", play: func(w *world) {
			w.decide(set, decide.Approve, time.Minute)
			w.pass(2 * time.Minute)
			w.doom(set, 100, true)
			w.pass(time.Minute)
		}, held: true},
		"hold": {reason: "not even one goes while it is held on purpose", play: func(w *world) { w.decide(set, decide.Hold, time.Hour); w.doom(set, 1, true); w.pass(time.Minute) }, held: true},
		"holdEnds": {reason: "and it goes afterwards", play: func(w *world) {
			w.decide(set, decide.Hold, time.Hour)
			w.doom(set, 1, true)
			w.pass(time.Hour + 2*time.Second)
		}, gone: 1},
		"undo": {reason: "undo withdraws nothing", play: func(w *world) {
			w.doom(set, 100, true)
			w.pass(time.Minute)
			w.decide(set, decide.Undo, time.Hour)
			w.pass(time.Minute)
		}, held: true},
		"tookBack": {reason: "a hold takes back what was let go a moment ago", play: func(w *world) {
			w.doom(set, 1, true)
			w.slow, w.now = true, w.now.Add(2*time.Second)
			w.evaluate()
			w.decide(set, decide.Hold, time.Hour)
			w.slow = false
			w.pass(time.Minute)
		}, held: true},
		"approvedDoNotCount": {reason: "after an approved removal another may lose its share", play: func(w *world) {
			w.decide(set, decide.Approve, time.Hour)
			w.doom(set, 40, true)
			w.pass(time.Second)
			w.unsay()
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
		"restartAllows": {reason: "nor what was allowed and waits for its agent", play: func(w *world) {
			w.doom(set, 20, true)
			w.slow = true
			w.pass(10 * time.Second)
			w.slow = false
			w.restart()
		}, gone: 20},
		"paused": {reason: "what a pause delays is not counted", play: func(w *world) {
			w.some(set, 20, stays, func(d *delivery) { d.lane, d.due, d.paused = tenant(set), true, true })
			w.pass(time.Minute)
			w.doom(set, 25, true)
			w.pass(time.Minute)
		}, gone: 25},
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
			w.want(c.reason, c.gone, c.held, tenant(set))
		})
	}
}

// An approval has no effect after its end, even if the plan was made before the end.
func TestEvaluate_ignoresAnEndedApproval(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.stale = true
	w.decide(set, decide.Approve, time.Minute)
	w.pass(2 * time.Minute)
	w.doom(set, 50, true)
	w.pass(time.Minute)
	if w.gone > 0 {
		t.Errorf("%d are gone", w.gone)
	}
	w.stale = false
	w.pass(time.Second)
	w.want("once it is planned again it is held", 0, true, tenant(set))
}

// Requested removals and lost permissions of a group have separate limits and holds.
func TestEvaluate_separatesLostPermissions(t *testing.T) {
	for name, c := range map[string]struct {
		reason       string
		play         func(w *world)
		gone         int
		admin, other bool // which lane is held
	}{
		"ownHold": {reason: "the ApplicationSet's hold does not keep what is revoked", play: func(w *world) {
			w.decide(set, decide.Hold, time.Hour)
			w.revoke(set, 3)
			w.pass(2 * time.Second)
		}, gone: 3},
		"ownApproval": {reason: "and its approval does not lift the limit for it", play: func(w *world) {
			w.decide(set, decide.Approve, time.Hour)
			w.revoke(set, 30)
			w.pass(10 * time.Second)
		}, admin: true},
		"administrator": {reason: "the administrator's word counts for it", play: func(w *world) {
			w.decide(set, decide.Hold, time.Hour)
			w.decide(hub, decide.Approve, time.Hour)
			w.revoke(set, 30)
			w.evaluate()
		}, gone: 30},
		"beside": {reason: "what the tenant removes does not hold it", play: func(w *world) {
			w.doom(set, 50, true)
			w.pass(time.Minute)
			w.revoke(set, 5)
			w.pass(time.Minute)
		}, gone: 5, other: true},
		"window": {reason: "nor uses up its window", play: func(w *world) {
			w.doom(set, 25, true)
			w.pass(time.Minute)
			w.revoke(set, 19)
			w.pass(time.Minute)
		}, gone: 44},
		"hub": {reason: "nor does it use up what the hub may lose", play: func(w *world) {
			w.doom(set, 25, true)
			w.doom(other, 25, true)
			w.revoke(set, 15)
			w.pass(time.Minute)
		}, gone: 65},
		"reverse": {reason: "and what is revoked does not hold what the tenant removes", play: func(w *world) {
			w.revoke(set, 50)
			w.pass(time.Minute)
			w.doom(set, 5, true)
			w.pass(time.Minute)
		}, gone: 5, admin: true},
		"laneChanges": {reason: "what was allowed in one lane is not in another", play: func(w *world) {
			w.doom(set, 5, true)
			w.slow = true
			w.pass(2 * time.Second)
			w.some(set, 5, goes, func(d *delivery) { d.lane = admin(set) })
			w.slow = false
			w.lookAtAll()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, defaults)
			w.add(set, 100)
			w.add(other, 100)
			c.play(w)
			w.want(c.reason, c.gone, c.admin, admin(set))
			if _, held := w.held(tenant(set)); held != c.other {
				t.Errorf("%s: the tenant's are held: %t", c.reason, held)
			}
		})
	}
}

// A hold of the deletions that one cluster causes does not hold deletions in other lanes.
func TestEvaluate_separatesTheLanesOfClusters(t *testing.T) {
	cluster := decide.Lane{Kind: decide.ClusterRevoked, Group: decide.Group{Namespace: "hostile"}}
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.add(other, 100)
	w.end(cluster, set, 40, true)
	w.end(cluster, other, 40, true)
	w.pass(time.Minute)
	w.want("eighty of one cluster, which has forty", 0, true, cluster)
	if why, _ := w.held(cluster); why.Lane != cluster || why.Deliveries != 40 || why.Limit != 10 {
		t.Errorf("they are held by %+v", why)
	}
	w.revoke(set, 10)
	w.doom(other, 10, true)
	w.pass(time.Minute)
	w.want("others of both groups go", 20, true, cluster)
	unproven := decide.Lane{Kind: decide.Unproven, Group: set}
	w.end(unproven, set, 30, true)
	w.pass(time.Minute)
	w.want("works that name a group", 20, true, unproven)
	w.doom(set, 5, true)
	w.pass(10 * time.Minute)
	w.want("do not hold the group's own", 25, true, unproven)
	quiet := decide.Lane{Kind: decide.ClusterRevoked, Group: decide.Group{Namespace: "quiet"}}
	w.end(quiet, set, 5, true)
	w.pass(time.Minute)
	w.want("nor what another cluster brings about", 30, false, quiet)
}

// small adds twenty groups of eight deliveries.
func small(w *world) (groups []decide.Group) {
	for i := range 20 {
		g := decide.Group{Namespace: "team", Set: fmt.Sprint("small", i)}
		w.add(g, 8)
		groups = append(groups, g)
	}
	return groups
}

func TestEvaluate_holdsTheWholeHub(t *testing.T) {
	w := newWorld(t, defaults)
	groups := small(w)
	for _, g := range groups {
		w.doom(g, 8, true)
	}
	w.pass(time.Minute)
	one := tenant(groups[3])
	w.want("twenty groups of eight lose all", 0, true, one)
	if why, _ := w.held(one); why.Lane != tenant(hub) || why.Pending != 160 {
		t.Errorf("it is held by %+v", why)
	}
	w.decide(groups[3], decide.Approve, time.Hour)
	w.pass(time.Minute)
	w.want("an approval of one of them lifts its own limit only", 0, true, one)
	w.decide(hub, decide.Approve, time.Hour)
	w.evaluate()
	w.want("that of the whole hub lifts the hub's", 160, false, one)
	w.unsay()
	w.add(groups[0], 8)
	w.doom(groups[0], 8, true)
	w.pass(2 * time.Second)
	w.want("what was approved for the whole hub does not count for it", 168, false, one)
}

// A hold of the whole hub ends once at most ten removals are left in it and nothing has changed for a minute.
func TestEvaluate_endsTheHoldOfTheHubForTheRest(t *testing.T) {
	w := newWorld(t, defaults)
	groups := small(w)
	w.doom(groups[0], 2, true)
	for _, g := range groups[1:] {
		w.doom(g, 8, true)
	}
	w.pass(time.Minute)
	innocent := tenant(groups[0])
	w.want("all are held together", 0, true, innocent)
	for _, g := range groups[1:18] {
		w.spare(g, 8)
	}
	w.pass(10 * time.Minute)
	w.want("two groups of eight are left beside it", 0, true, innocent)
	w.spare(groups[18], 8)
	w.pass(59 * time.Second)
	w.want("one is, for less than a minute", 0, true, innocent)
	w.restart()
	w.pass(59 * time.Second)
	w.want("and less than one since the start", 0, true, innocent)
	w.pass(2 * time.Second)
	w.want("ten go", 10, false, innocent)
}

// An approval of a group does not exempt its deletions from the limit of the hub.
func TestEvaluate_countsApprovedGroupsForTheHub(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.add(other, 100)
	w.decide(set, decide.Approve, time.Hour)
	w.doom(set, 51, true)
	w.pass(time.Minute)
	w.want("one more than the hub may lose", 0, true, tenant(set))
	w.spare(set, 51)
	w.evaluate()
	w.doom(set, 45, true)
	w.pass(2 * time.Second)
	w.want("within the hub's limit", 45, false, tenant(set))
	w.doom(other, 6, true)
	w.pass(time.Minute)
	w.want("which it has used up for others", 45, true, tenant(other))
	before := w.writes
	w.pass(8 * time.Minute)
	w.want("for as long as the window lasts", 45, true, tenant(other))
	if w.writes != before {
		t.Errorf("a hold that goes on was stored %d times", w.writes-before)
	}
	w.pass(3 * time.Minute)
	w.want("until that has slid out", 51, false, tenant(other))
}

// Held deletions of a group do not count for the hub, whichever limit holds them. Other groups continue.
func TestEvaluate_countsNoHeldGroupsForTheHub(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.add(other, 100)
	w.doom(set, 100, true)
	w.pass(time.Minute)
	w.doom(other, 2, true)
	w.pass(time.Minute)
	w.want("a hundred of another group are held", 2, false, tenant(other))
	if why, _ := w.held(tenant(set)); why.Lane != tenant(set) {
		t.Errorf("the hundred are held by %+v", why)
	}
	groups := small(w)
	for _, g := range groups {
		w.doom(g, 8, true)
	}
	w.pass(time.Minute)
	w.want("many small groups are held together", 2, true, tenant(groups[0]))
	w.doom(other, 3, true)
	w.pass(time.Minute)
	w.want("which does not concern another", 5, false, tenant(other))
	w.restart()
	w.doom(other, 1, true)
	w.pass(time.Minute)
	w.want("nor after a restart", 6, false, tenant(other))
	w.want("which holds them still", 6, true, tenant(groups[0]))
}

// Nine of forty deletions are allowed. Nine more are held until the first nine have left the window. Of the
// rest, eleven at once are held and ten are allowed.
func TestEvaluate_allowsFortyDeletionsInParts(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 40)
	w.doom(set, 9, true)
	w.pass(time.Minute)
	w.doom(set, 9, true)
	w.pass(time.Minute)
	w.want("nine, and nine a minute later", 9, true, tenant(set))
	w.pass(10 * time.Minute)
	w.want("which go by themselves", 18, false, tenant(set))
	w.doom(set, 9, true)
	w.pass(30 * time.Minute)
	w.doom(set, 11, true)
	w.pass(time.Hour)
	w.want("eleven of the rest are more than ten", 27, true, tenant(set))
	w.spare(set, 1)
	w.pass(59 * time.Second)
	w.restart()
	w.pass(2 * time.Minute)
	w.want("and ten of them are not", 37, false, tenant(set))
}

func TestEvaluate_doesNotWaitWithoutALimit(t *testing.T) {
	w := newWorld(t, Settings{Group: limit.Limit{Percent: 100, Least: 0}, Hub: limit.Limit{Percent: 100, Least: 0}, Window: time.Minute})
	w.add(set, 100)
	w.doom(set, 100, true)
	w.evaluate()
	w.want("limits are off", 100, false, tenant(set))
	if w.writes > 0 {
		t.Errorf("it was stored: %s", w.stored.records)
	}
}

func TestEvaluate_holdsEveryDeletionWithALimitOfZero(t *testing.T) {
	w := newWorld(t, Settings{Group: limit.Limit{Percent: 0, Least: 0}, Hub: limit.Limit{Percent: 100, Least: 0}, Window: time.Minute})
	w.add(set, 100)
	w.doom(set, 1, true)
	w.pass(time.Hour)
	w.want("0% and least 0", 0, true, tenant(set))
}

// The reported figures of a hold do not change while it lasts. Otherwise propagation would write every held
// Application again for each deletion that joins.
func TestEvaluate_keepsTheFiguresOfAHold(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.doom(set, 40, true)
	w.pass(time.Minute)
	before, _ := w.held(tenant(set))
	w.doom(set, 20, true)
	j := evaluate(w.ledger.state(false, nil, w.now))
	concerned := w.ledger.apply(j)
	after, held := w.held(tenant(set))
	if !held || j.changed || len(concerned) > 0 || after != before {
		t.Errorf("held %t, to be stored %t, %d concerned, %+v became %+v", held, j.changed, len(concerned), before, after)
	}
	w.restart()
	if again, _ := w.held(tenant(set)); again != before {
		t.Errorf("after a restart %+v became %+v", before, again)
	}
}
