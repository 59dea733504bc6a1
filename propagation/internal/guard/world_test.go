// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// world plays a hub: deliveries that are there, and what is to go of them.
type world struct {
	t      *testing.T
	ledger *Ledger
	now    time.Time
	live   map[types.UID]Group
	counts map[Group]int
	doomed map[types.UID]bool // false: in a grace period
	// revoked: not even the ApplicationSet's word keeps it.
	revoked map[types.UID]bool
	gone    []departure
	// words are of groups, and of the whole hub under the zero Group; administrators' count
	// for revocations, too.
	words  map[Group]Decision
	limits []limitAt
	saved  Records
}

type departure struct {
	group Group
	at    time.Time
	// approved for its group, and for the whole hub.
	approved, unlimited bool
}

var defaults = Settings{Group: limit.Limit{Percent: 25, Least: 10}, Hub: limit.Limit{Percent: 10, Least: 50}, Window: 10 * time.Minute}

func newWorld(t *testing.T, settings Settings) *world {
	return &world{t: t, ledger: NewLedger(settings, nil), now: start, live: map[types.UID]Group{}, counts: map[Group]int{}, doomed: map[types.UID]bool{}, words: map[Group]Decision{}, revoked: map[types.UID]bool{}}
}

func (w *world) add(g Group, n int) {
	for range n {
		w.live[types.UID(fmt.Sprintf("%s-%d", g, len(w.live)+len(w.gone)))] = g
		w.counts[g]++
		w.counts[Group{}]++
	}
}

// doom dooms n more of a group.
func (w *world) doom(g Group, n int, due bool) {
	for uid, group := range w.live {
		if _, already := w.doomed[uid]; n > 0 && group == g && !already {
			w.doomed[uid] = due
			w.look(uid)
			n--
		}
	}
}

func (w *world) spare(g Group, n int) {
	for uid := range w.doomed {
		if n > 0 && w.live[uid] == g {
			delete(w.doomed, uid)
			w.look(uid)
			n--
		}
	}
}

// look is a look of Reconcile at one Application.
func (w *world) look(uid types.UID) {
	app := types.NamespacedName{Name: string(uid)}
	w.ledger.Begin(app)
	if due, doomed := w.doomed[uid]; doomed {
		group, live := w.live[uid]
		if !live {
			w.t.Fatalf("%s is doomed and gone", uid)
		}
		if allowed, _ := w.ledger.Note(app, uid, group, due, w.revoked[uid], w.now); allowed {
			w.gone = append(w.gone, departure{group: group, at: w.now, approved: w.hub().Decisions[Lane{Group: group}].Word == Approve, unlimited: w.words[Group{}].Word == Approve})
			delete(w.live, uid)
			w.counts[group]--
			w.counts[Group{}]--
			delete(w.doomed, uid)
			w.ledger.End(app)
			w.look(uid)
			return
		}
	}
	w.ledger.End(app)
}

func (w *world) deliveries(g Group) int { return w.counts[g] }

// hub is what is known of it: of each group its own word and that of the whole hub, for
// revocations the latter only.
func (w *world) hub() Hub {
	h := Hub{Deliveries: w.deliveries, Decisions: map[Lane]Decision{{}: w.words[Group{}]}}
	for g := range w.ledger.Groups() {
		h.Decisions[Lane{Group: g}] = Strongest(w.words[g], w.words[Group{}])
		h.Decisions[Lane{Group: g, Revocation: true}] = w.words[Group{}]
	}
	return h
}

// plan plans and carries out, and returns when to plan again.
func (w *world) plan() time.Duration {
	words := map[Group]Decision{}
	for g, d := range w.words {
		if d.Until.After(w.now) {
			words[g] = d
		}
	}
	w.words = words
	p := w.ledger.Plan(w.hub(), w.now)
	if p.Changed {
		text, err := p.Records.Encode(1 << 20)
		if err != nil {
			w.t.Fatal(err)
		}
		if w.saved, err = DecodeRecords(text); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, app := range w.ledger.Apply(p) {
		w.look(types.UID(app.Name))
	}
	return p.After
}

// pass lets time pass in steps of a second.
func (w *world) pass(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(time.Second) {
		w.plan()
	}
	w.plan()
}

func (w *world) restart() {
	w.ledger = NewLedger(w.ledger.settings, w.saved)
	for uid := range w.doomed {
		w.look(uid)
	}
}

func (w *world) decide(g Group, word Word, d time.Duration) {
	w.words[g] = Decision{Word: word, Until: w.now.Add(d), On: "namespace team"}
}

func (w *world) want(reason string, gone int, held bool, g Group) {
	w.t.Helper()
	if len(w.gone) != gone {
		w.t.Errorf("%s: %d are gone, want %d", reason, len(w.gone), gone)
	}
	if _, is := w.ledger.held(Lane{Group: g}); is != held {
		w.t.Errorf("%s: held is %t", reason, is)
	}
}

// burst dooms n, some each second, as a controller that deletes them does.
func (w *world) burst(g Group, n, each int) {
	for ; n > 0; n -= each {
		w.doom(g, each, true)
		w.pass(time.Second)
	}
	w.pass(time.Hour)
}

// revoke dooms n more of a group, which may not be there any more.
func (w *world) revoke(g Group, n int) {
	for uid, group := range w.live {
		if _, already := w.doomed[uid]; n > 0 && group == g && !already {
			w.doomed[uid], w.revoked[uid] = true, true
			w.look(uid)
			n--
		}
	}
}

// back spares n, one every four seconds.
func (w *world) back(g Group, n int) {
	for range n {
		w.spare(g, 1)
		w.pass(4 * time.Second)
	}
	w.pass(time.Minute)
}
