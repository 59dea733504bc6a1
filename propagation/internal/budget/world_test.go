// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

var (
	start    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	set      = decide.Group{Namespace: "team", Set: "guestbook"}
	other    = decide.Group{Namespace: "team", Set: "other"}
	hub      = decide.Group{}
	defaults = Settings{Group: limit.Limit{Percent: 25, Least: 10}, Hub: limit.Limit{Percent: 10, Least: 50}, Window: 10 * time.Minute}
)

const grace = 5 * time.Minute

func tenant(g decide.Group) decide.Lane { return decide.Lane{Kind: decide.Tenant, Group: g} }
func admin(g decide.Group) decide.Lane  { return decide.Lane{Kind: decide.Admin, Group: g} }

// delivery is an Application with one work.
type delivery struct {
	group decide.Group
	// lane has a kind once the work is to be deleted. due is true once its grace period is over.
	lane decide.Lane
	due  bool
	// paused delays the deletion.
	paused bool
}

// allowance is an allowed deletion.
type allowance struct {
	lane decide.Lane
	at   time.Time
	// approved is an approval for the lane, and unlimited one for the whole hub.
	approved, unlimited bool
}

// world simulates a hub with deliveries and their planned deletions.
type world struct {
	t       *testing.T
	ledger  *ledger
	now     time.Time
	live    map[types.UID]*delivery
	serial  int
	gone    int
	allowed []allowance
	// due is the time of the next evaluation, or zero for none.
	due time.Time
	// stale is true if no plan is made when an override expires.
	stale bool
	// slow keeps allowed deletions pending, as an unavailable agent does.
	slow bool
	// words has the overrides of groups, and of the whole hub under the zero Group. Overrides of the hub also
	// apply after a lost permission.
	words  map[decide.Group]decide.Override
	stored struct{ records, notes []byte }
	writes int
}

func newWorld(t *testing.T, settings Settings) *world {
	return &world{t: t, ledger: newLedger(settings), now: start, live: map[types.UID]*delivery{}, words: map[decide.Group]decide.Override{}}
}

func (w *world) add(g decide.Group, n int) {
	for range n {
		w.serial++
		uid := types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", w.serial))
		w.live[uid] = &delivery{group: g}
		w.look(uid)
	}
}

// some calls do for n deliveries of a group that match which, in the order of their UIDs.
func (w *world) some(g decide.Group, n int, which func(*delivery) bool, do func(*delivery)) {
	for _, uid := range w.uids() {
		if d := w.live[uid]; n > 0 && d.group == g && which(d) {
			do(d)
			w.look(uid)
			n--
		}
	}
}

func (w *world) uids() (uids []types.UID) {
	for uid := range w.live {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return uids
}

func stays(d *delivery) bool { return d.lane.Kind == decide.Uncounted }
func goes(d *delivery) bool  { return !stays(d) }

// doom plans the removal of n more works of a group, due now or later.
func (w *world) doom(g decide.Group, n int, due bool) { w.end(tenant(g), g, n, due) }

// revoke plans the removal of n more works of a group after a lost permission.
func (w *world) revoke(g decide.Group, n int) { w.end(admin(g), g, n, true) }

func (w *world) end(lane decide.Lane, g decide.Group, n int, due bool) {
	w.some(g, n, stays, func(d *delivery) { d.lane, d.due = lane, due })
}

// spare cancels n planned removals of a group.
func (w *world) spare(g decide.Group, n int) {
	w.some(g, n, goes, func(d *delivery) { d.lane, d.due = decide.Lane{}, false })
}

// override returns the override that applies to a deletion.
func (w *world) override(lane decide.Lane, g decide.Group) decide.Override {
	switch lane.Kind {
	case decide.Uncounted:
		return decide.Override{}
	case decide.Tenant:
		return decide.Strongest(w.words[g], w.words[hub])
	default:
		return w.words[hub]
	}
}

// look reconciles an Application. It plans, and deletes an allowed work.
func (w *world) look(uid types.UID) {
	d := w.live[uid]
	p := w.plan(uid, d)
	w.ledger.set(p, w.now)
	f := p.Fates[0]
	if f.Act != decide.End || f.Override.Effect.Keeps() || f.Delayed.By != "" || !w.ledger.works[uid].end.allowed || w.slow {
		return
	}
	w.gone++
	delete(w.live, uid)
	w.ledger.set(decide.Plan{Key: types.NamespacedName{Name: string(uid)}}, w.now)
}

func (w *world) plan(uid types.UID, d *delivery) decide.Plan {
	f := decide.Fate{UID: uid, Own: true, Lane: d.lane, Override: w.override(d.lane, d.group)}
	if d.lane.Kind != decide.Uncounted {
		f.Why, f.Due = decide.Deleting, d.due
		if d.due {
			f.Act = decide.End
		}
	}
	if d.paused {
		f.Delayed.By = "Namespace team"
	}
	return decide.Plan{Key: types.NamespacedName{Name: string(uid)}, Group: d.group, Deliveries: 1, Fates: []decide.Fate{f}}
}

func (w *world) lookAtAll() {
	for _, uid := range w.uids() {
		w.look(uid)
	}
}

// expire removes expired overrides.
func (w *world) expire() {
	if w.stale {
		return
	}
	for g, r := range w.words {
		if !r.Until.After(w.now) {
			delete(w.words, g)
			w.lookAtAll()
			w.ledger.news = true
		}
	}
}

// evaluate evaluates, stores and deletes, and returns the evaluation.
func (w *world) evaluate() evaluation {
	w.t.Helper()
	w.ledger.news, w.due = false, time.Time{}
	j := evaluate(w.ledger.state(w.words[hub].Effect == decide.Approve, func(string) int { return 40 }, w.now))
	if j.changed {
		w.store(j)
	}
	if j.after > 0 {
		w.due = w.now.Add(j.after)
	}
	for _, e := range j.allow {
		w.allowed = append(w.allowed, allowance{lane: e.lane, at: w.now, approved: e.override.Effect == decide.Approve, unlimited: w.words[hub].Effect == decide.Approve})
	}
	for _, app := range w.ledger.apply(j) {
		w.look(types.UID(app.Name))
	}
	return j
}

func (w *world) store(j evaluation) {
	w.t.Helper()
	m := memory{records: j.records}
	m.notes, m.essential = w.ledger.stored()
	for _, e := range j.allow {
		w.ledger.allow(m, e)
	}
	text, err := encodeRecords(m.records)
	if err != nil {
		w.t.Fatal(err)
	}
	w.stored.records = []byte(text)
	if w.stored.notes, err = encodeNotes(m.notes); err != nil {
		w.t.Fatal(err)
	}
	w.writes++
}

// pass lets time pass in steps of a second. Like the worker, it evaluates after a change, and at the time
// that the last evaluation returned.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); ; w.now = w.now.Add(time.Second) {
		w.expire()
		for w.ledger.news || !w.due.IsZero() && !w.now.Before(w.due) {
			w.evaluate()
		}
		if !w.now.Before(end) {
			return
		}
	}
}

// restart drops everything that is not stored.
func (w *world) restart() {
	w.t.Helper()
	w.ledger = newLedger(w.ledger.settings)
	if w.writes > 0 {
		records, err := decodeRecords(string(w.stored.records))
		if err != nil {
			w.t.Fatal(err)
		}
		notes, err := decodeNotes(w.stored.notes)
		if err != nil {
			w.t.Fatal(err)
		}
		w.ledger.restore(records, notes, w.now, grace)
	}
	w.lookAtAll()
	w.ledger.news = true // a worker begins with an evaluation
}

func (w *world) decide(g decide.Group, word decide.Effect, d time.Duration) {
	w.words[g] = decide.Override{Effect: word, Until: w.now.Add(d), On: "Namespace team"}
	w.lookAtAll()
	w.ledger.news = true // the annotation has changed
}

// unsay removes all overrides.
func (w *world) unsay() {
	w.words = map[decide.Group]decide.Override{}
	w.lookAtAll()
	w.ledger.news = true
}

// held returns why the first deletion in a lane is held.
func (w *world) held(lane decide.Lane) (heldBack, bool) {
	for _, uid := range w.uids() {
		if e := w.ledger.works[uid].end; e != nil && e.lane == lane && e.waits() {
			if why, held := w.ledger.held(e); held {
				return why, true
			}
		}
	}
	return heldBack{}, false
}

func (w *world) want(reason string, gone int, held bool, lane decide.Lane) {
	w.t.Helper()
	if w.gone != gone {
		w.t.Errorf("%s: %d are gone, want %d", reason, w.gone, gone)
	}
	if _, is := w.held(lane); is != held {
		w.t.Errorf("%s: held is %t", reason, is)
	}
}

// burst plans n removals, some each second, like a controller that deletes Applications.
func (w *world) burst(g decide.Group, n, each int) {
	for ; n > 0; n -= each {
		w.doom(g, each, true)
		w.pass(time.Second)
	}
	w.pass(time.Hour)
}

// back cancels n removals, one every four seconds.
func (w *world) back(g decide.Group, n int) {
	for range n {
		w.spare(g, 1)
		w.pass(4 * time.Second)
	}
	w.pass(time.Minute)
}
