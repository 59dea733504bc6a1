// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// Hub is what a plan needs to know of the hub.
type Hub struct {
	// Deliveries are how many there are of a group, and of all under the zero Group:
	// ManifestWorks that are not being deleted.
	Deliveries func(Group) int
	// Decisions are what operators have decided, and in the zero Lane about the whole hub. A
	// lane that is not among them waits.
	Decisions map[Lane]Decision
}

// unlimited reports whether the limit of the hub is lifted, which a word on propagation's
// own Namespace does and no other.
func (h Hub) unlimited() bool { return h.Decisions[Lane{}].Word == Approve }

// Plan is what is to become of all that is to be withdrawn.
type Plan struct {
	// Records are to be stored before the plan is carried out, when Changed.
	Records Records
	Changed bool
	// After is when to plan again unless something happens, 0 for never.
	After time.Duration

	allow   []types.UID
	decided map[Lane]Decision
}

// tally is what there is of a group.
type tally struct {
	// pending are not allowed yet, of which due would be withdrawn now.
	pending, due, allowed int
	first, last           time.Time
}

func (t *tally) add(w *pendingWork) {
	if w.allowed {
		t.allowed++
		return
	}
	one := tally{pending: 1, first: w.joined, last: w.joined}
	if w.due {
		one.due = 1
	}
	t.merge(one)
}

func (t *tally) merge(other tally) {
	if other.pending > 0 && (t.pending == 0 || other.first.Before(t.first)) {
		t.first = other.first
	}
	if other.last.After(t.last) {
		t.last = other.last
	}
	t.pending, t.due, t.allowed = t.pending+other.pending, t.due+other.due, t.allowed+other.allowed
}

// tallies are what there is of a group that no word keeps: limited counts for the group's
// limit, and approved for the hub's only.
type tallies struct{ limited, approved tally }

type verdict int

const (
	waiting verdict = iota // for others that may join
	allowed
	denied
)

// Plan decides on all that is to be withdrawn. It changes nothing: see [Ledger.Record].
func (l *Ledger) Plan(hub Hub, now time.Time) Plan {
	p := Plan{Records: l.records.current(l.settings.Window, now), decided: map[Lane]Decision{}}
	groups := map[Group]*tallies{}
	for g := range l.Groups() {
		if _, known := hub.Decisions[Lane{Group: g}]; known {
			groups[g] = &tallies{}
		}
	}
	everything := tally{}
	for _, w := range l.pending {
		d, known := hub.Decisions[w.Lane]
		t := groups[w.Group]
		if !known || t == nil {
			continue // noted since the decisions were read
		}
		p.decided[w.Lane] = d
		if !d.Until.IsZero() {
			p.After = sooner(p.After, max(d.Until.Sub(now), time.Millisecond))
		}
		if w.allowed {
			everything.allowed++
		}
		switch {
		case w.allowed || d.Word == None:
			t.limited.add(w)
		case d.Word == Approve && !hub.unlimited():
			t.approved.add(w)
		}
	}
	verdicts := map[Group]verdict{}
	for g, t := range groups {
		verdicts[g] = l.ofGroup(&p, g, t, hub, now)
	}
	l.ofHub(&p, groups, verdicts, everything, hub, now)
	l.allow(&p, verdicts, hub, now)
	return p
}

// ofGroup decides whether a group keeps its limit.
func (l *Ledger) ofGroup(p *Plan, g Group, t *tallies, hub Hub, now time.Time) verdict {
	record := p.Records[g]
	if held := record.Held; held != nil {
		over := l.settings.Group.Off() || t.limited.pending == 0
		if held.Hub {
			over = l.settings.Hub.Off() || hub.unlimited() || t.limited.pending+t.approved.pending == 0
		}
		if !over {
			return denied
		}
		record.Held = nil
		p.Records[g], p.Changed = record, true
	}
	v, hold := l.evaluate(p, l.settings.Group, t.limited, hub.Deliveries(g), record, now)
	if v == denied {
		record.Held = hold
		p.Records[g], p.Changed = record, true
	}
	return v
}

// ofHub decides whether what the groups let pass keeps the hub's limit. What is over it is
// held as a whole, group by group: a group that is held does not count for the hub, so that
// it does not keep the others.
func (l *Ledger) ofHub(p *Plan, groups map[Group]*tallies, verdicts map[Group]verdict, all tally, hub Hub, now time.Time) {
	if hub.unlimited() {
		return
	}
	passing := map[Group]bool{}
	for g, t := range groups {
		if held := p.Records[g].Held; held != nil && held.Hub {
			continue
		}
		if verdicts[g] == allowed {
			limited := t.limited
			limited.allowed = 0 // of which all knows already
			all.merge(limited)
			passing[g] = true
		}
		if t.approved.pending > 0 {
			all.merge(t.approved)
			passing[g] = true
		}
	}
	v, hold := l.evaluate(p, l.settings.Hub, all, hub.Deliveries(Group{}), p.Records[Group{}], now)
	for g := range passing {
		if v == denied {
			record, held := p.Records[g], *hold
			held.Hub = true
			record.Held = &held
			p.Records[g], p.Changed = record, true
		}
		if v != allowed {
			verdicts[g] = v
		}
	}
	verdicts[Group{}] = v
}

// evaluate decides whether a limit is kept; a hold says why it is not.
func (l *Ledger) evaluate(p *Plan, of limit.Limit, t tally, deliveries int, record Record, now time.Time) (verdict, *Holding) {
	if of.Off() {
		return allowed, nil
	}
	if t.due == 0 {
		return waiting, nil
	}
	withdrawn := record.withdrawn(l.settings.Window, now)
	deliveries += withdrawn - t.allowed
	settled := t.last.Add(settle)
	if withdrawn+t.pending <= of.Least {
		settled = t.first.Add(gather)
	} else if latest := t.first.Add(longest); latest.Before(settled) {
		settled = latest
	}
	if left := settled.Sub(now); left > 0 {
		p.After = sooner(p.After, left)
		return waiting, nil
	}
	if most := of.Of(deliveries); withdrawn+t.pending > most {
		return denied, &Holding{Since: now.UTC().Round(0), Pending: withdrawn + t.pending, Deliveries: deliveries, Limit: most}
	}
	return allowed, nil
}

// allow notes what may go, and counts what goes without an approval.
func (l *Ledger) allow(p *Plan, verdicts map[Group]verdict, hub Hub, now time.Time) {
	counted := map[Group]int{}
	for uid, w := range l.pending {
		d, known := p.decided[w.Lane]
		if !known || w.allowed || !w.due {
			continue
		}
		free := hub.unlimited() || verdicts[Group{}] == allowed && !p.Records[w.Group].heldByHub()
		switch {
		case d.Word == Approve && free:
		case d.Word == None && free && verdicts[w.Group] == allowed:
			if !l.settings.Group.Off() {
				counted[w.Group]++
			}
		default:
			continue
		}
		p.allow = append(p.allow, uid)
		if !l.settings.Hub.Off() && !hub.unlimited() {
			counted[Group{}]++
		}
	}
	for g, n := range counted {
		p.Records[g], p.Changed = p.Records[g].adding(n, l.settings.Window, now), true
	}
}

func (r Record) heldByHub() bool { return r.Held != nil && r.Held.Hub }

// Apply carries a plan out and returns the Applications that have to be reconciled: what
// holds them has changed, or they may go on.
func (l *Ledger) Apply(p Plan) []types.NamespacedName {
	before := map[Lane]HeldBack{}
	for _, w := range l.pending {
		before[w.Lane], _ = l.held(w.Lane)
	}
	concerned := map[types.NamespacedName]bool{}
	for _, uid := range p.allow {
		if w := l.pending[uid]; w != nil {
			w.allowed = true
			concerned[w.app] = true
		}
	}
	l.records, l.decided = p.Records, p.decided
	for _, w := range l.pending {
		if d := p.decided[w.Lane].Word; d == Hold || d == Undo {
			w.allowed = false
		}
		if after, _ := l.held(w.Lane); w.due && after != before[w.Lane] {
			concerned[w.app] = true
		}
	}
	list := make([]types.NamespacedName, 0, len(concerned))
	for app := range concerned {
		list = append(list, app)
	}
	return list
}
