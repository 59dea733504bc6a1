// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// work is the ledger's entry for a ManifestWork that a plan names.
type work struct {
	app   types.NamespacedName
	known bool
	group decide.Group
	// named is the group that the work names.
	named decide.Group
	// end is nil if the work has no planned removal and no running clock.
	end *plannedEnd
}

// plannedEnd is the removal of a work according to the last plan.
type plannedEnd struct {
	end
	since map[decide.Why]time.Time
	// ends is true if the removal is planned, now or later. kept is true if an override or a pause
	// delays it.
	ends, kept bool
	allowed    bool
}

func (w *work) note() decide.Note {
	n := decide.Note{Known: w.known, Group: short(w.group)}
	if w.end != nil {
		n.Since, n.Allowed, n.Lane = w.end.since, w.end.allowed, w.end.lane
	}
	return n
}

// counts reports whether the removal counts and is not allowed yet.
func (e *plannedEnd) counts() bool {
	return e != nil && e.ends && !e.kept && !e.allowed && e.lane.Kind != decide.Uncounted
}

// waits reports whether the removal is due and held.
func (e *plannedEnd) waits() bool {
	return e != nil && e.ends && e.due && !e.allowed && (e.lane.Kind != decide.Uncounted && !e.kept || e.override.Effect.Keeps())
}

// planned is the last plan of an Application, with its short group.
type planned struct {
	group      decide.Group
	deliveries int
	goneSince  time.Time
	works      []types.UID
}

// ledger has the state of all works. It is not safe for concurrent use.
type ledger struct {
	settings Settings
	records  laneRecords
	plans    map[types.NamespacedName]planned
	works    map[types.UID]*work
	// restored are stored notes of works that no plan has named yet.
	restored workNotes
	// left is when a removal was last cancelled in a held lane, or in a kind that the hub's limit
	// holds.
	left map[decide.Lane]time.Time
	// outdated are Applications with removals that were planned before the stored state was read.
	outdated map[types.NamespacedName]bool
	// names are the whole names of short groups.
	names map[decide.Group]decide.Group
	// news is true if an evaluation is due. unsaved is true if notes have changed.
	news, unsaved bool
}

func newLedger(settings Settings) *ledger {
	return &ledger{
		settings: settings, records: laneRecords{}, plans: map[types.NamespacedName]planned{}, works: map[types.UID]*work{},
		restored: workNotes{}, left: map[decide.Lane]time.Time{}, outdated: map[types.NamespacedName]bool{},
		names: map[decide.Group]decide.Group{},
	}
}

// restore loads the stored records and notes. A restored clock counts for half a grace period at
// most, because the permission may have returned while no process was running.
func (l *ledger) restore(records laneRecords, notes workNotes, now time.Time, grace time.Duration) {
	for _, app := range l.waiting() {
		l.outdated[app] = true
	}
	l.records = records
	for uid, note := range notes {
		for why, at := range note.Since {
			note.Since[why] = later(at, now.Add(-grace/2))
		}
		if w := l.works[uid]; w != nil {
			w.restore(note)
		} else {
			l.restored[uid] = note
		}
	}
}

// restore merges a stored note into the entry of a work that a plan has named already. The clocks
// of that entry started at this plan.
func (w *work) restore(note decide.Note) {
	if !w.known && note.Known {
		w.known, w.group = true, note.Group
	}
	if w.end == nil {
		return
	}
	w.end.allowed = w.end.allowed || note.Allowed && w.end.counts() && w.end.due && sameLane(w.end.lane, note.Lane)
	since := maps.Clone(w.end.since)
	for why, at := range since {
		if before, ran := note.Since[why]; ran && before.Before(at) {
			since[why] = before
		}
	}
	w.end.since = since
}

// note returns the note of a work.
func (l *ledger) note(uid types.UID) decide.Note {
	if w := l.works[uid]; w != nil {
		return w.note()
	}
	return l.restored[uid]
}

// set replaces the plan of an Application. It keeps what the earlier plan had of missing works. It
// forgets an Application without works.
func (l *ledger) set(p decide.Plan, now time.Time) {
	before := l.plans[p.Key]
	after := planned{group: short(p.Group), deliveries: p.Deliveries, goneSince: p.GoneSince, works: make([]types.UID, 0, len(p.Fates))}
	for i := range p.Fates {
		if f := &p.Fates[i]; f.Act != decide.Leave {
			l.take(p, f, now)
			after.works = append(after.works, f.UID)
		}
	}
	for _, uid := range before.works {
		w := l.works[uid]
		switch {
		case w == nil || w.app != p.Key || slices.Contains(after.works, uid):
		case slices.Contains(p.Missing, uid):
			after.works = append(after.works, uid)
		default:
			l.drop(w.end, now)
			delete(l.works, uid)
		}
	}
	if len(p.Fates) == 0 && p.Deliveries == 0 && len(after.works) == 0 {
		delete(l.plans, p.Key)
		return
	}
	l.plans[p.Key] = after
}

// take records the fate of one work.
func (l *ledger) take(p decide.Plan, f *decide.Fate, now time.Time) {
	w := l.works[f.UID]
	if w == nil {
		note := l.restored[f.UID]
		w = &work{known: note.Known, group: note.Group}
		if note.Allowed || len(note.Since) > 0 {
			w.end = &plannedEnd{end: end{uid: f.UID, lane: note.Lane, joined: now, due: note.Allowed}, since: note.Since, ends: note.Allowed, allowed: note.Allowed}
		}
		delete(l.restored, f.UID)
		l.works[f.UID] = w
	}
	w.app, w.named = p.Key, f.Group
	switch {
	case f.Own:
		w.known, w.group = true, p.Group
	case !w.known && f.Lane.Kind == decide.Unproven:
		w.group = f.Lane.Group
	}
	before := w.end
	if w.end = endOf(f, before, now); w.end != nil {
		l.learn(w.group, w.named)
	}
	l.compare(before, w.end, now)
}

// endOf returns the removal that a fate plans, or nil if it plans none and no clock runs. A removal
// stays allowed in its lane until it is cancelled or delayed.
func endOf(f *decide.Fate, before *plannedEnd, now time.Time) *plannedEnd {
	e := &plannedEnd{end: end{uid: f.UID, lane: f.Lane, override: f.Override, joined: now, due: f.Act == decide.End && f.Due}, since: f.Clocks}
	e.lane.Group = short(e.lane.Group)
	e.ends, e.kept = e.due || f.Lane.Kind != decide.Uncounted, f.Delayed.By != "" || f.Override.Effect.Keeps()
	if !e.ends && len(e.since) == 0 {
		return nil
	}
	if before != nil && before.ends && sameLane(before.lane, e.lane) {
		e.joined, e.allowed = before.joined, before.allowed && e.due && !e.kept
	}
	return e
}

// sameLane reports whether two lanes of one work are equal. A stored lane has no cluster name, and
// a work stays on its cluster.
func sameLane(a, b decide.Lane) bool { return a == b || a.Kind == b.Kind && a.Kind.OfCluster() }

// compare records the changes of a removal.
func (l *ledger) compare(before, after *plannedEnd, now time.Time) {
	switch {
	case before == nil && after == nil:
		return
	case before == nil || after == nil || !sameLane(before.lane, after.lane) || before.ends != after.ends || before.kept != after.kept:
		l.news, l.unsaved = true, true
	case before.due != after.due || before.override != after.override || before.allowed != after.allowed:
		l.news = true
	}
	if after == nil || !maps.EqualFunc(sinceOf(before), after.since, time.Time.Equal) {
		l.unsaved = true
	}
	if before.counts() && (!after.counts() || !sameLane(before.lane, after.lane)) {
		l.leave(before.lane, now)
	}
}

func sinceOf(e *plannedEnd) map[decide.Why]time.Time {
	if e == nil {
		return nil
	}
	return e.since
}

// drop forgets the removal of a work that no longer exists.
func (l *ledger) drop(e *plannedEnd, now time.Time) { l.compare(e, nil, now) }

// leave records that a removal was cancelled in a lane before it was allowed.
func (l *ledger) leave(lane decide.Lane, now time.Time) {
	for _, left := range []decide.Lane{lane, {Kind: lane.Kind}} {
		if l.records[left].Held != nil {
			l.left[left] = now
		}
	}
}

// waiting returns the Applications with removals that are due and held.
func (l *ledger) waiting() []types.NamespacedName {
	apps := map[types.NamespacedName]bool{}
	for _, w := range l.works {
		if w.end.waits() {
			apps[w.app] = true
		}
	}
	return slices.Collect(maps.Keys(apps))
}

// state returns the input of an evaluation. onCluster counts the works on a cluster.
func (l *ledger) state(unlimited bool, onCluster func(string) int, now time.Time) state {
	s := state{settings: l.settings, records: l.records, left: l.left, unlimited: unlimited, now: now}
	for _, w := range l.works {
		if w.end.counts() {
			s.ends = append(s.ends, w.end.end)
		}
	}
	counts := map[decide.Group]int{}
	for _, p := range l.plans {
		counts[p.group] += p.deliveries
		counts[decide.Group{}] += p.deliveries
	}
	s.deliveries = func(lane decide.Lane) int {
		if lane.Kind.OfCluster() && lane.Group != (decide.Group{}) {
			return onCluster(lane.Group.Namespace)
		}
		return counts[lane.Group]
	}
	return s
}

// stored returns the notes to store: essential ones are an input of evaluations, all ones include
// those in a grace period.
func (l *ledger) stored() (all, essential workNotes) {
	all, essential = maps.Clone(l.restored), maps.Clone(l.restored)
	for uid, w := range l.works {
		if w.end == nil || w.end.lane.Kind == decide.Uncounted && len(w.end.since) == 0 {
			continue
		}
		all[uid] = w.note()
		if w.end.due {
			essential[uid] = all[uid]
		}
	}
	return all, essential
}

// still reports whether the plan of a work has the same removal that was evaluated.
func (w *work) still(e end) bool {
	return w != nil && w.end.counts() && w.end.due && sameLane(w.end.lane, e.lane)
}

// allow marks a removal as allowed in the memory that is about to be stored.
func (l *ledger) allow(m memory, e end) {
	if w := l.works[e.uid]; w.still(e) {
		note := w.note()
		note.Allowed = true
		m.notes[e.uid], m.essential[e.uid] = note, note
	}
}

// forget drops restored notes that no plan has named within one window after the start. It also
// drops names without a planned removal.
func (l *ledger) forget(now, started time.Time) {
	l.names = map[decide.Group]decide.Group{}
	for _, w := range l.works {
		if w.end != nil {
			l.learn(w.group, w.named)
		}
	}
	if len(l.restored) > 0 && now.Sub(started) > l.settings.Window {
		l.restored, l.unsaved = workNotes{}, true
	}
}

// groups returns the short groups that works belong to, or name.
func (l *ledger) groups() map[decide.Group]bool {
	groups := map[decide.Group]bool{}
	for _, w := range l.works {
		groups[short(w.group)], groups[short(w.named)] = true, true
	}
	for _, note := range l.restored {
		groups[note.Group] = true
	}
	return groups
}

// deliveries counts the deliveries of a group.
func (l *ledger) deliveries(g decide.Group) (n int) {
	g = short(g)
	for _, p := range l.plans {
		if p.group == g {
			n += p.deliveries
		}
	}
	return n
}

// learn records the whole name of a short group, for reports.
func (l *ledger) learn(groups ...decide.Group) {
	for _, g := range groups {
		if s := short(g); s != g {
			l.names[s] = g
		}
	}
}

// whole returns the group with its whole name. It returns g if no work with a planned removal has
// that name.
func (l *ledger) whole(g decide.Group) decide.Group {
	if named, known := l.names[g]; known {
		return named
	}
	return g
}
