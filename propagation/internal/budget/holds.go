// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// heldBack is why removals are held. The zero value means that nothing holds them.
type heldBack struct {
	// Lane is over its limit, unless Override holds it. With the zero Group, all lanes of the kind
	// are over the limit of the hub.
	Lane decide.Lane
	holding
	Override decide.Override
	// Problem is why no decision is possible, or "".
	Problem string
}

// short returns the hold with its short group, which does not change after a restart.
func (h heldBack) short() heldBack {
	h.Lane.Group = short(h.Lane.Group)
	return h
}

// ofHub reports whether the limit of the hub holds.
func (h heldBack) ofHub() bool {
	return h.Lane.Group == (decide.Group{}) && h.Override.Effect == decide.None
}

// held returns why a removal is held.
func (l *ledger) held(e *plannedEnd) (why heldBack, ok bool) {
	lane, hub := decide.Lane{Kind: e.lane.Kind, Group: l.whole(e.lane.Group)}, decide.Lane{Kind: e.lane.Kind}
	switch record := l.records[e.lane]; {
	case e.allowed:
		return heldBack{}, false
	case e.override.Effect.Keeps():
		return heldBack{Lane: lane, Override: e.override}, true
	case record.Held != nil && e.override.Effect != decide.Approve:
		return heldBack{Lane: lane, holding: *record.Held}, true
	case e.lane.Kind != decide.Uncounted && slices.Contains(l.records[hub].Together, e.lane.Group):
		return heldBack{Lane: hub, holding: *l.records[hub].Held}, true
	}
	return heldBack{}, false
}

// heldIn counts the works of a group that are held for one reason.
type heldIn struct {
	group decide.Group
	heldBack
	works int
}

// heldOf returns why works of an Application are held. The work with the lowest UID decides.
func (l *ledger) heldOf(app types.NamespacedName) (why heldBack, ok bool) {
	first := types.UID("")
	for _, uid := range l.plans[app].works {
		w := l.works[uid]
		if w == nil || w.app != app || !w.end.waits() || ok && first < uid {
			continue
		}
		if h, held := l.held(w.end); held {
			why, ok, first = h, true, uid
		}
	}
	return why, ok
}

// allHolds returns all holds. A hold without a due removal has no works.
func (l *ledger) allHolds() []heldIn {
	counts := map[heldIn]int{}
	for lane, record := range l.records {
		if lane.Group = l.whole(lane.Group); record.Held != nil {
			counts[heldIn{group: lane.Group, heldBack: heldBack{Lane: lane, holding: *record.Held}}] = 0
		}
	}
	for _, w := range l.works {
		if !w.end.waits() {
			continue
		}
		if why, held := l.held(w.end); held {
			counts[heldIn{group: l.whole(short(w.group)), heldBack: why}]++
		}
	}
	list := make([]heldIn, 0, len(counts))
	for h, n := range counts {
		h.works = n
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b heldIn) int {
		return cmp.Or(compareGroups(a.group, b.group), cmp.Compare(a.Lane.Kind, b.Lane.Kind))
	})
	return list
}

// apply records the result of an evaluation. It returns the Applications that have to be
// reconciled, because a removal may proceed or the reason of a hold has changed. That
// includes outdated Applications.
func (l *ledger) apply(j evaluation) []types.NamespacedName {
	before := map[types.UID]heldBack{}
	for uid, w := range l.works {
		if w.end.waits() {
			before[uid], _ = l.held(w.end)
		}
	}
	for _, e := range j.allow {
		if w := l.works[e.uid]; w.still(e) {
			w.end.allowed = true
		}
	}
	l.records = j.records
	maps.DeleteFunc(l.left, func(lane decide.Lane, _ time.Time) bool { return l.records[lane].Held == nil })
	concerned := l.outdated
	l.outdated = map[types.NamespacedName]bool{}
	for uid, hold := range before {
		e := l.works[uid].end
		if after, _ := l.held(e); e.allowed || after != hold {
			concerned[l.works[uid].app] = true
		}
	}
	return slices.Collect(maps.Keys(concerned))
}
