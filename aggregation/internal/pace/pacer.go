// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pacer decides when each report is due. It is safe for concurrent use.
type Pacer struct {
	limits Limits

	mu      sync.Mutex
	flood   flood // of the changes of all reports
	waiting map[types.NamespacedName]*pending
	last    map[types.NamespacedName]history
	// writes is how long a write of every report that waits takes, going by its last.
	writes time.Duration
}

// New returns a pacer without reports.
func New(limits Limits) *Pacer {
	return &Pacer{limits: limits, waiting: map[types.NamespacedName]*pending{}, last: map[types.NamespacedName]history{}}
}

// Changed records a change. check is true if the caller has to check the report after wait.
// Otherwise a check is already scheduled.
func (p *Pacer) Changed(key types.NamespacedName, now time.Time) (wait time.Duration, check bool) {
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

// Take returns the changes that are due, if any. If changes have to wait, it returns for how long.
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
		s.burst = true
		return Batch{}, min(bound, max(over, time.Duration(len(p.waiting))*checkEvery))
	}
	p.wait(key, nil)
	last := p.last[key]
	last.distance = p.limits.next(last, s)
	last.writtenAt = now
	p.last[key] = last
	return s.Batch, 0
}

// wait has a report wait, or no longer when s is nil.
func (p *Pacer) wait(key types.NamespacedName, s *pending) {
	if p.waiting[key] != nil {
		p.writes -= p.last[key].latency
	}
	if s == nil {
		delete(p.waiting, key)
		return
	}
	p.waiting[key] = s
	p.writes += p.last[key].latency
}

// Written notes that a batch was written. A write without a change repairs the report after a write
// of another client. Such a write does not measure how long writes take.
func (p *Pacer) Written(key types.NamespacedName, b Batch, now time.Time) {
	if b.Changes == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[key]
	last.latency, last.latencyBefore = now.Sub(last.writtenAt), last.latency
	if p.waiting[key] != nil {
		p.writes += last.latency - last.latencyBefore
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

// Forget drops a report that does not exist any more.
func (p *Pacer) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait(key, nil)
	delete(p.last, key)
}
