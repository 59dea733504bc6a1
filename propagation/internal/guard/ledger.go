// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pendingWork is a ManifestWork that is to be withdrawn.
type pendingWork struct {
	app types.NamespacedName
	Lane
	joined time.Time
	// due: it would be withdrawn now; otherwise once a grace period has passed.
	due bool
	// seen: the present reconcile of its Application has found it so, too.
	seen bool
	// allowed: it may be withdrawn, and counts as withdrawn.
	allowed bool
}

// Lane is what the same annotations decide about: a revocation is not decided about by
// the ApplicationSet, which the tenant writes.
type Lane struct {
	Group      Group
	Revocation bool
}

// Ledger is what is known of the works that are to be withdrawn. It is not safe for
// concurrent use.
type Ledger struct {
	settings Settings
	records  Records
	pending  map[types.UID]*pendingWork
	byApp    map[types.NamespacedName]map[types.UID]bool
	// decided are the decisions that the last plan followed.
	decided map[Lane]Decision
}

// NewLedger returns a ledger that goes on from records.
func NewLedger(settings Settings, records Records) *Ledger {
	return &Ledger{
		settings: settings, records: records, pending: map[types.UID]*pendingWork{},
		byApp: map[types.NamespacedName]map[types.UID]bool{}, decided: map[Lane]Decision{},
	}
}

// Begin begins a reconcile of an Application, which notes anew what is to be withdrawn.
func (l *Ledger) Begin(app types.NamespacedName) {
	for uid := range l.byApp[app] {
		l.pending[uid].seen = false
	}
}

// Note notes that a work of an Application is to be withdrawn, at once when due.
// revocation: since it may not be there any more. It returns whether the work may be
// withdrawn, and whether a plan has to take it into account.
func (l *Ledger) Note(app types.NamespacedName, work types.UID, group Group, due, revocation bool, now time.Time) (allowed, news bool) {
	next := Lane{Group: group, Revocation: revocation}
	w := l.pending[work]
	if news = w == nil || w.due != due || w.Lane != next; w == nil {
		w = &pendingWork{joined: now}
		l.pending[work] = w
	}
	if w.app != app || l.byApp[app] == nil {
		l.unlink(w.app, work)
		if l.byApp[app] == nil {
			l.byApp[app] = map[types.UID]bool{}
		}
		l.byApp[app][work] = true
	}
	if w.Lane != next {
		w.allowed = false // others decide about it
	}
	w.app, w.Lane, w.due, w.seen = app, next, due, true
	return w.allowed, news
}

// End ends a reconcile: what it has not noted is not to be withdrawn, or is gone.
func (l *Ledger) End(app types.NamespacedName) (news bool) {
	for uid := range l.byApp[app] {
		if !l.pending[uid].seen {
			delete(l.pending, uid)
			l.unlink(app, uid)
			news = true
		}
	}
	return news
}

// Restore replaces the records by what is stored.
func (l *Ledger) Restore(records Records) { l.records = records }

func (l *Ledger) unlink(app types.NamespacedName, work types.UID) {
	if delete(l.byApp[app], work); len(l.byApp[app]) == 0 {
		delete(l.byApp, app)
	}
}

// Groups returns the groups that a plan has to decide about.
func (l *Ledger) Groups() map[Group]bool {
	groups := map[Group]bool{}
	for _, w := range l.pending {
		groups[w.Group] = true
	}
	for g, record := range l.records {
		if record.Held != nil {
			groups[g] = true
		}
	}
	return groups
}

// Waiting returns the Applications that have works which are due and not allowed.
func (l *Ledger) Waiting() (apps []types.NamespacedName) {
	for app := range l.byApp {
		if l.Waits(app) {
			apps = append(apps, app)
		}
	}
	return apps
}

// HeldBack is why works are held.
type HeldBack struct {
	// Group that is over its limit, unless Decision holds it; the zero Group is the hub.
	Group Group
	Holding
	Decision Decision
	// Problem, when not empty, is why nothing can be decided at all.
	Problem string
}

// Held returns why works of an Application that its present, or last, reconcile noted
// as due are held.
func (l *Ledger) Held(app types.NamespacedName) (why HeldBack, ok bool) {
	first := types.UID("")
	for uid := range l.byApp[app] {
		w := l.pending[uid]
		if w.allowed || !w.due || !w.seen || ok && first < uid {
			continue
		}
		if h, held := l.held(w.Lane); held {
			why, ok, first = h, true, uid
		}
	}
	return why, ok
}

// held returns why what is noted in a lane is held.
func (l *Ledger) held(of Lane) (why HeldBack, ok bool) {
	d := l.decided[of]
	if d.Word == Hold || d.Word == Undo {
		return HeldBack{Group: of.Group, Decision: d}, true
	}
	record := l.records[of.Group].Held
	switch {
	case record == nil || !record.Hub && d.Word == Approve:
		return HeldBack{}, false
	case record.Hub:
		return HeldBack{Holding: *record}, true
	}
	return HeldBack{Group: of.Group, Holding: *record}, true
}

// HeldIn is how many works of a group are held, and why.
type HeldIn struct {
	Group Group
	HeldBack
	Works int
}

// Holds returns all that is held; a hold of which nothing is due now has no works.
func (l *Ledger) Holds() []HeldIn {
	counts := map[HeldIn]int{}
	for g, record := range l.records {
		if record.Held != nil {
			why, _ := l.held(Lane{Group: g})
			if why.Decision.Word == None {
				counts[HeldIn{Group: g, HeldBack: why}] = 0
			}
		}
	}
	for _, w := range l.pending {
		if why, held := l.held(w.Lane); held && w.due && !w.allowed {
			counts[HeldIn{Group: w.Group, HeldBack: why}]++
		}
	}
	holds := make([]HeldIn, 0, len(counts))
	for h, n := range counts {
		h.Works = n
		holds = append(holds, h)
	}
	slices.SortFunc(holds, func(a, b HeldIn) int { return strings.Compare(a.Group.String(), b.Group.String()) })
	return holds
}

// Records returns what is remembered, as it was stored last.
func (l *Ledger) Records() Records { return l.records }

// Waits reports whether an Application has works that are due and not allowed.
func (l *Ledger) Waits(app types.NamespacedName) bool {
	for uid := range l.byApp[app] {
		if w := l.pending[uid]; w.due && !w.allowed {
			return true
		}
	}
	return false
}
