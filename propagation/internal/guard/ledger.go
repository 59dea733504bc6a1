// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// doom is one delivery that is to be withdrawn.
type doom struct {
	app    types.NamespacedName
	group  Group
	joined time.Time
	// due: it would be withdrawn now; otherwise once a grace period has passed.
	due bool
	// seen: the present look at its Application has found it so, too.
	seen bool
	// admitted: it may go, and counts as withdrawn.
	admitted bool
}

// lull is since when something is so.
type lull struct {
	since  time.Time
	doomed int
}

// Ledger holds what is to be withdrawn, by the UID of its ManifestWork. It is not
// safe for concurrent use.
type Ledger struct {
	settings Settings
	records  Records
	doomed   map[types.UID]*doom
	byApp    map[types.NamespacedName]map[types.UID]bool
	// within is since when a held group would keep its limit, with as many doomed.
	within map[Group]lull
	// decided are the decisions by which the last plan held groups.
	decided map[Group]Decision
}

// NewLedger returns a ledger that remembers what records say.
func NewLedger(settings Settings, records Records) *Ledger {
	return &Ledger{
		settings: settings, records: records, doomed: map[types.UID]*doom{}, byApp: map[types.NamespacedName]map[types.UID]bool{},
		within: map[Group]lull{}, decided: map[Group]Decision{},
	}
}

// Begin begins a look at an Application, which notes anew what of it is to be
// withdrawn.
func (l *Ledger) Begin(app types.NamespacedName) {
	for uid := range l.byApp[app] {
		l.doomed[uid].seen = false
	}
}

// Note notes that a delivery is to be withdrawn, when due at once, and reports
// whether it may be, and whether that is news.
func (l *Ledger) Note(app types.NamespacedName, work types.UID, group Group, due bool, now time.Time) (admitted, news bool) {
	d := l.doomed[work]
	if news = d == nil || d.due != due; d == nil {
		d = &doom{joined: now}
		l.doomed[work] = d
	}
	if d.app != app || l.byApp[app] == nil {
		l.unlink(d.app, work)
		if l.byApp[app] == nil {
			l.byApp[app] = map[types.UID]bool{}
		}
		l.byApp[app][work] = true
	}
	d.app, d.group, d.due, d.seen = app, group, due, true
	return d.admitted, news
}

// End ends a look that went well: what it has not noted again is wanted, or gone. It
// reports whether there was such.
func (l *Ledger) End(app types.NamespacedName) (news bool) {
	for uid := range l.byApp[app] {
		if !l.doomed[uid].seen {
			delete(l.doomed, uid)
			l.unlink(app, uid)
			news = true
		}
	}
	return news
}

// Restore replaces what the ledger remembers of former withdrawals and holds.
func (l *Ledger) Restore(records Records) { l.records = records }

func (l *Ledger) unlink(app types.NamespacedName, work types.UID) {
	if delete(l.byApp[app], work); len(l.byApp[app]) == 0 {
		delete(l.byApp, app)
	}
}

// HeldIn returns how many deliveries of each group wait for a decision.
func (l *Ledger) HeldIn() map[Group]int {
	n := map[Group]int{}
	for _, d := range l.doomed {
		if _, held := l.HeldGroup(d.group); held && !d.admitted && d.due {
			n[d.group]++
		}
	}
	return n
}

// Groups returns the groups of which something is to be withdrawn or held.
func (l *Ledger) Groups() map[Group]bool {
	groups := map[Group]bool{}
	for _, d := range l.doomed {
		groups[d.group] = true
	}
	for g, record := range l.records {
		if record.Held != nil && g != (Group{}) {
			groups[g] = true
		}
	}
	return groups
}

// HeldBack is why deliveries are held.
type HeldBack struct {
	// Group that is over its limit, unless Decision holds it.
	Group Group
	Holding
	Decision Decision
}

// Held returns why deliveries of an Application are held that the present look at it
// has noted; ok is false when none is.
func (l *Ledger) Held(app types.NamespacedName) (why HeldBack, ok bool) {
	for uid := range l.byApp[app] {
		d := l.doomed[uid]
		if d.admitted || !d.due || !d.seen {
			continue
		}
		if why, ok = l.HeldGroup(d.group); ok {
			return why, true
		}
	}
	return HeldBack{}, false
}

// HeldGroup returns why the withdrawals of a group are held.
func (l *Ledger) HeldGroup(g Group) (why HeldBack, ok bool) {
	if d := l.decided[g]; d.Word != None {
		return HeldBack{Group: g, Decision: d}, d.Word != Approve
	}
	if held := l.records[g].Held; held != nil {
		return HeldBack{Group: g, Holding: *held}, true
	}
	if held := l.records[Group{}].Held; held != nil {
		return HeldBack{Holding: *held}, true
	}
	return HeldBack{}, false
}
