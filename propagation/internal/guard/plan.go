// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Hub is what a plan rests on besides the ledger, as the hub has it at the moment.
type Hub struct {
	// Deliveries are how many there are of a group, and of all under the zero Group:
	// ManifestWorks that are not being deleted.
	Deliveries func(Group) int
	// Decisions are what operators have decided about groups.
	Decisions map[Group]Decision
}

// Plan is what is to become of what the ledger holds.
type Plan struct {
	// Records are to be stored before the plan is carried out, when Changed.
	Records Records
	Changed bool
	// After is when to plan again unless something happens, 0 for never.
	After time.Duration

	admit   []types.UID
	decided map[Group]Decision
}

// tally is what a ledger holds of a group.
type tally struct {
	doomed, due, admitted int
	first, last           time.Time
}

func (t *tally) add(d *doom) {
	if d.admitted {
		t.admitted++
		return
	}
	if t.doomed++; d.due {
		t.due++
	}
	if t.first.IsZero() || d.joined.Before(t.first) {
		t.first = d.joined
	}
	if d.joined.After(t.last) {
		t.last = d.joined
	}
}

// ruling is what is said of a group.
type ruling int

const (
	wait ruling = iota // for others that may join
	pass
	stop
)

// Plan decides. The ledger is as before until [Ledger.Carry].
func (l *Ledger) Plan(hub Hub, now time.Time) Plan {
	p := Plan{Records: l.records.current(l.settings.Window, now), decided: map[Group]Decision{}}
	tallies := map[Group]*tally{}
	all := &tally{}
	for _, d := range l.doomed {
		t := tallies[d.group]
		if t == nil {
			t = &tally{}
			tallies[d.group] = t
		}
		t.add(d)
		if hub.Decisions[d.group].Word == None {
			all.add(d)
		} else if d.admitted {
			all.admitted++
		}
	}
	rulings := map[Group]ruling{}
	for g := range l.Groups() {
		t := tallies[g]
		if t == nil {
			t = &tally{}
		}
		decision := hub.Decisions[g]
		if decision.Word != None {
			p.decided[g] = decision
			if !decision.Until.IsZero() {
				p.After = sooner(p.After, max(decision.Until.Sub(now), time.Millisecond))
			}
			l.release(&p, g) // whatever its figures say
			continue
		}
		rulings[g] = l.rule(&p, g, t, l.settings.Group, hub, now)
	}
	rulings[Group{}] = l.rule(&p, Group{}, all, l.settings.Hub, hub, now)
	l.admit(&p, rulings, now)
	return p
}

// rule judges a group by its figures.
func (l *Ledger) rule(p *Plan, g Group, t *tally, limit Limit, hub Hub, now time.Time) ruling {
	if limit.Percent >= 100 {
		l.release(p, g)
		return pass
	}
	record := p.Records[g]
	withdrawn := record.withdrawn(l.settings.Window, now)
	deliveries := hub.Deliveries(g) - t.admitted + withdrawn
	most := limit.Of(deliveries)
	keeps := withdrawn+t.doomed <= most
	if record.Held != nil {
		return l.ruleHeld(p, g, t.doomed, keeps, now)
	}
	if t.due == 0 {
		return wait
	}
	settled := t.last.Add(quiet)
	if withdrawn+t.doomed <= limit.Least {
		settled = t.first.Add(gather)
	} else if latest := t.first.Add(patience); latest.Before(settled) {
		settled = latest
	}
	if left := settled.Sub(now); left > 0 {
		p.After = sooner(p.After, left)
		return wait
	}
	if keeps {
		return pass
	}
	record.Held = &Holding{Since: now, Doomed: withdrawn + t.doomed, Deliveries: deliveries, Limit: most}
	p.Records[g], p.Changed = record, true
	p.After = sooner(p.After, record.forgetful(l.settings.Window, now))
	return stop
}

// ruleHeld judges a group that is held: it is until it has kept its limit for a while
// in which nothing has changed.
func (l *Ledger) ruleHeld(p *Plan, g Group, doomed int, keeps bool, now time.Time) ruling {
	if !keeps {
		delete(l.within, g)
		p.After = sooner(p.After, p.Records[g].forgetful(l.settings.Window, now))
		return stop
	}
	if last, there := l.within[g]; !there || last.doomed != doomed {
		l.within[g] = lull{since: now, doomed: doomed}
	}
	if left := calm - now.Sub(l.within[g].since); left > 0 {
		p.After = sooner(p.After, left)
		return stop
	}
	l.release(p, g)
	return pass
}

// release ends a group's hold.
func (l *Ledger) release(p *Plan, g Group) {
	delete(l.within, g)
	record := p.Records[g]
	if record.Held == nil {
		return
	}
	record.Held = nil
	p.Records[g], p.Changed = record, true
}

// admit lets go what both its group and the hub pass, and what is approved.
func (l *Ledger) admit(p *Plan, rulings map[Group]ruling, now time.Time) {
	counted := map[Group]int{}
	for uid, d := range l.doomed {
		if d.admitted || !d.due {
			continue
		}
		switch p.decided[d.group].Word {
		case Approve:
			p.admit = append(p.admit, uid)
		case None:
			if rulings[d.group] == pass && rulings[Group{}] == pass {
				p.admit = append(p.admit, uid)
				counted[d.group]++
				counted[Group{}]++
			}
		case Hold, Undo:
		}
	}
	if l.settings.Off() {
		return
	}
	for g, n := range counted {
		p.Records[g], p.Changed = p.Records[g].adding(n, l.settings.Window, now), true
	}
}

// Carry carries a plan out, once its records are stored, and returns the Applications
// that it concerns: those of which something may go now, or is held, or not any more.
func (l *Ledger) Carry(p Plan) []types.NamespacedName {
	before := map[Group]HeldBack{}
	groups := l.Groups()
	for g := range groups {
		before[g], _ = l.HeldGroup(g)
	}
	concerned := map[types.NamespacedName]bool{}
	for _, uid := range p.admit {
		if d := l.doomed[uid]; d != nil {
			d.admitted = true
			concerned[d.app] = true
		}
	}
	l.records, l.decided = p.Records, p.decided
	for _, d := range l.doomed {
		if w := p.decided[d.group].Word; w == Hold || w == Undo {
			d.admitted = false
		}
	}
	changed := map[Group]bool{}
	for g := range groups {
		after, _ := l.HeldGroup(g)
		changed[g] = after != before[g]
	}
	for _, d := range l.doomed {
		if changed[d.group] && d.due {
			concerned[d.app] = true
		}
	}
	list := make([]types.NamespacedName, 0, len(concerned))
	for app := range concerned {
		list = append(list, app)
	}
	return list
}
