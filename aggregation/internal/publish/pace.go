// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pace says how long changes of a report are gathered before one write carries
// them all.
type Pace struct {
	// Min is the wait of a lone change of a small report.
	Min time.Duration
	// Max is the wait of a lone change of a report as large as the size limit, and
	// of every change that closely follows a write. In a storm, when one write
	// carried many changes, the next wait is twice as long, up to four times Max.
	Max time.Duration
}

const (
	// stormChanges in one wait are a storm.
	stormChanges = 25
	// stormWaits is how many times Max a storm may wait.
	stormWaits = 4
)

// wait returns how long the first change after a write is held back.
func (p Pace) wait(h history, now time.Time) time.Duration {
	alone := p.Min + time.Duration(float64(p.Max-p.Min)*min(1, h.fullness))
	if h.written.IsZero() || now.Sub(h.written) > 2*max(h.waited, p.Max) {
		return alone
	}
	if h.changes >= stormChanges {
		return min(max(2*h.waited, p.Max), stormWaits*p.Max)
	}
	return p.Max
}

// history is what is remembered of the last write of a report.
type history struct {
	written  time.Time
	waited   time.Duration
	changes  int     // that it carried
	fullness float64 // size of the report as a part of the size limit
}

// pacer knows when each report is due. It is safe for concurrent use.
type pacer struct {
	pace Pace
	now  func() time.Time

	mu    sync.Mutex
	paces map[types.NamespacedName]*pending
}

// pending is a report's changes that are not written yet.
type pending struct {
	last    history
	changes int
	first   time.Time
	due     time.Time
}

func newPacer(pace Pace) *pacer {
	return &pacer{pace: pace, now: time.Now, paces: map[types.NamespacedName]*pending{}}
}

// changed notes a change. When it is the first since the last write, the report
// has to be looked at after wait; otherwise that is arranged already.
func (p *pacer) changed(key types.NamespacedName) (wait time.Duration, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.paces[key]
	if s == nil {
		s = &pending{}
		p.paces[key] = s
	}
	s.changes++
	if s.changes > 1 {
		return 0, false
	}
	now := p.now()
	wait = p.pace.wait(s.last, now)
	s.first, s.due = now, now.Add(wait)
	return wait, true
}

// batch is the changes that one write carries.
type batch struct {
	changes int
	first   time.Time // when the first of them came
	waited  time.Duration
}

// take returns the changes that are due, and none when there are none. While there
// are some that have to wait, it returns for how long.
func (p *pacer) take(key types.NamespacedName) (b batch, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.paces[key]
	if s == nil || s.changes == 0 {
		return batch{}, 0
	}
	if wait := s.due.Sub(p.now()); wait > 0 {
		return batch{}, wait
	}
	b = batch{changes: s.changes, first: s.first, waited: s.due.Sub(s.first)}
	s.changes = 0
	return b, 0
}

// written notes that a batch is in the report.
func (p *pacer) written(key types.NamespacedName, b batch, fullness float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.paces[key]; s != nil {
		s.last = history{written: p.now(), waited: b.waited, changes: b.changes, fullness: fullness}
	}
}

// failed puts a batch back: it is due at once, and its first change stays the first.
func (p *pacer) failed(key types.NamespacedName, b batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.paces[key]; s != nil && b.changes > 0 {
		s.changes += b.changes
		s.first, s.due = b.first, p.now()
	}
}

// forget drops a report that is gone.
func (p *pacer) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.paces, key)
}
