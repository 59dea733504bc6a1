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

// Pure is a Budget without clients, for simulations.
type Pure struct {
	ledger *ledger
	sets   sets
}

// Stored is the state that survives a restart.
type Stored struct{ memory memory }

// NewPure returns a Pure with the stored state.
func NewPure(s Settings, stored Stored, now time.Time, grace time.Duration) *Pure {
	p := &Pure{ledger: newLedger(s), sets: sets{}}
	m := stored.clone().memory
	p.ledger.restore(m.records, m.notes, now, grace)
	maps.Copy(p.sets, m.sets)
	return p
}

func (s Stored) clone() Stored {
	m := memory{records: laneRecords{}, notes: workNotes{}, sets: maps.Clone(s.memory.sets)}
	maps.Copy(m.records, s.memory.records)
	for uid, note := range s.memory.notes {
		note.Since = maps.Clone(note.Since)
		m.notes[uid] = note
	}
	return Stored{m}
}

// Forget returns the stored state without the allowed deletions.
func (s Stored) Forget() Stored {
	s = s.clone()
	for uid, note := range s.memory.notes {
		note.Allowed = false
		s.memory.notes[uid] = note
	}
	return s
}

// Note returns the stored note of a work.
func (s Stored) Note(uid types.UID) decide.Note { return s.memory.notes[uid] }

// Works returns the UIDs of the works with a stored note.
func (s Stored) Works() []types.UID { return slices.Sorted(maps.Keys(s.memory.notes)) }

// Set, Note, GoneSince, Keys, Observe and Outlives do the same as the methods of [Budget].
func (p *Pure) Set(plan decide.Plan, now time.Time) decide.Verdict {
	p.ledger.set(plan, now)
	v := decide.Verdict{Allowed: map[types.UID]bool{}}
	for i := range plan.Fates {
		if w := p.ledger.works[plan.Fates[i].UID]; w != nil && w.end != nil {
			v.Allowed[plan.Fates[i].UID] = w.end.allowed
		}
	}
	return v
}

func (p *Pure) Note(uid types.UID) decide.Note { return p.ledger.note(uid) }

func (p *Pure) GoneSince(app types.NamespacedName) time.Time { return p.ledger.plans[app].goneSince }

func (p *Pure) Keys() []types.NamespacedName { return slices.Collect(maps.Keys(p.ledger.plans)) }

func (p *Pure) Observe(set decide.Group, annotations map[string]string, now time.Time) {
	p.sets.observe(set, annotations, now)
}

func (p *Pure) Outlives(set decide.Group, now time.Time) *decide.Annotations {
	return left(set, p.sets[set].Annotations, now)
}

// End returns the lane of a planned deletion, and whether the deletion is due.
func (p *Pure) End(uid types.UID) (lane decide.Lane, due bool) {
	if w := p.ledger.works[uid]; w != nil && w.end != nil {
		return w.end.lane, w.end.ends && w.end.due
	}
	return decide.Lane{}, false
}

// Held reports whether its own limit holds a lane, and whether the limit of the hub holds it.
func (p *Pure) Held(lane decide.Lane) (own, hub bool) {
	return p.ledger.records[lane].Held != nil, slices.Contains(p.ledger.records[decide.Lane{Kind: lane.Kind}].Together, lane.Group)
}

// Judge decides about the pending deletions. The decision counts only if save has stored it.
func (p *Pure) Judge(unlimited bool, onCluster func(string) int, now time.Time, save func(Stored) bool) {
	j := evaluate(p.ledger.state(unlimited, onCluster, now))
	m := memory{records: j.records, sets: maps.Clone(p.sets)}
	m.notes, m.essential = p.ledger.stored()
	for _, e := range j.allow {
		p.ledger.allow(m, e)
	}
	if save(Stored{m}.clone()) {
		p.ledger.apply(j)
	}
}
