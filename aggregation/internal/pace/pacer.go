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
	// stormed: a storm has held it back, which gathers by itself.
	stormed bool
}

// history is what is remembered of a report.
type history struct {
	begun    time.Time     // when its last write was
	distance time.Duration // that the next one keeps from it
	// took is how long the last write took that succeeded, tookBefore the one before
	// it: a single one may have met a pause of the server.
	took, tookBefore time.Duration
}

// Changed notes a change. look says that the report has to be looked at after wait;
// without it that is arranged already.
func (p *Pacer) Changed(key types.NamespacedName, now time.Time) (wait time.Duration, look bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flood.add(now)
	if s := p.waiting[key]; s != nil {
		s.Changes++
		return 0, false
	}
	wait = p.limits.wait(p.last[key], now)
	p.wait(key, &pending{Batch: Batch{Changes: 1, First: now}, due: now.Add(wait)})
	return wait, true
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
	if over := p.flood.over(now); min(bound, over) > 0 {
		s.stormed = true
		return Batch{}, min(bound, max(over, time.Duration(len(p.waiting))*lookEvery))
	}
	p.wait(key, nil)
	last := p.last[key]
	last.distance = p.limits.next(last, s)
	last.begun = now
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
	p.wait(key, &pending{Batch: b, due: now})
}

// Forget drops a report that is gone.
func (p *Pacer) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait(key, nil)
	delete(p.last, key)
}
