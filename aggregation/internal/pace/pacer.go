// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pacer knows when each report is due. It is safe for concurrent use.
type Pacer struct {
	limits Limits

	mu      sync.Mutex
	flood   flood // of the changes of all reports
	waiting map[types.NamespacedName]*pending
	last    map[types.NamespacedName]history
	// writes is how long a write of every report that waits takes, going by its last.
	writes time.Duration
}

// New returns a pacer that knows of no report yet.
func New(limits Limits) *Pacer {
	return &Pacer{limits: limits, waiting: map[types.NamespacedName]*pending{}, last: map[types.NamespacedName]history{}}
}

// Batch is the changes that one write carries; the zero Batch is none.
type Batch struct {
	Changes int
	First   time.Time // when the first of them came
}

// pending is a report's changes that are not written yet.
type pending struct {
	Batch
	due time.Time
	// earliest is before when company does not make it due.
	earliest time.Time
}

// history is what is remembered of a report.
type history struct {
	begun time.Time // when its last write was
	// took is how long the last write took that succeeded, tookBefore the one before
	// it: a single one may have met a pause of the server.
	took, tookBefore time.Duration
	bytes            int
	spent            spent
}

// Changed notes a change. look says that the report has to be looked at after wait;
// without it that is arranged already.
func (p *Pacer) Changed(key types.NamespacedName, now time.Time) (wait time.Duration, look bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flood.add(now)
	last := p.last[key]
	if s := p.waiting[key]; s != nil {
		s.Changes++
		return s.joined(p.limits.company(last.bytes), now)
	}
	earliest := now.Add(p.limits.wait(last, now))
	s := &pending{Batch: Batch{Changes: 1, First: now}, due: earliest, earliest: earliest}
	if trickle := last.spent.now(p.limits, last.bytes, now) > spareMost-1; trickle && p.flood.over(now) == 0 {
		s.due = latest(earliest, now.Add(p.limits.alone(last)))
	}
	p.wait(key, s)
	return s.due.Sub(now), true
}

// joined notes that one more change came: what waited for company has it.
func (s *pending) joined(company time.Duration, now time.Time) (wait time.Duration, sooner bool) {
	due := latest(s.earliest, now.Add(company))
	if !due.Before(s.due) {
		return 0, false
	}
	s.due = due
	return max(0, due.Sub(now)), true
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Take returns the changes that are due, and none when there are none. While there
// are some that have to wait, it returns for how long.
func (p *Pacer) Take(key types.NamespacedName, now time.Time) (b Batch, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.waiting[key]
	if s == nil {
		return Batch{}, 0
	}
	if now.Before(s.due) {
		return Batch{}, s.due.Sub(now)
	}
	bound := s.First.Add(p.limits.patience(p.writes)).Sub(now)
	if wait := min(bound, p.flood.over(now)); wait > 0 {
		return Batch{}, wait
	}
	p.wait(key, nil)
	last := p.last[key]
	last.begun = now
	last.spent.write(p.limits, last.bytes, now)
	p.last[key] = last
	return s.Batch, 0
}

// wait has a report wait, or no longer when s is nil.
func (p *Pacer) wait(key types.NamespacedName, s *pending) {
	if p.waiting[key] != nil {
		p.writes -= p.last[key].took
	}
	if s == nil {
		delete(p.waiting, key)
		return
	}
	p.waiting[key] = s
	p.writes += p.last[key].took
}

// Written notes that a batch was written. A write that carried no change, to repair
// what another client did to the report, says nothing about how long writes take.
func (p *Pacer) Written(key types.NamespacedName, b Batch, now time.Time) {
	if b.Changes == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[key]
	last.took, last.tookBefore = now.Sub(last.begun), last.took
	if p.waiting[key] != nil {
		p.writes += last.took - last.tookBefore
	}
	p.last[key] = last
}

// Sized notes how large the report is.
func (p *Pacer) Sized(key types.NamespacedName, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[key]
	last.bytes = bytes
	p.last[key] = last
}

// Failed puts a batch back: it is due at once, and its first change stays the first.
func (p *Pacer) Failed(key types.NamespacedName, b Batch, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.Changes == 0 {
		return
	}
	if s := p.waiting[key]; s != nil {
		b.Changes += s.Changes
	}
	p.wait(key, &pending{Batch: b, due: now, earliest: now})
}

// Forget drops a report that is gone.
func (p *Pacer) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait(key, nil)
	delete(p.last, key)
}
