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
	// of a change that closely follows a write. A storm waits until it is over, but
	// no longer than four times Max.
	Max time.Duration
}

const (
	// stormChanges that wait for one write are a storm.
	stormChanges = 50
	// stormWaits is how many times Max a storm may wait.
	stormWaits = 4
	// calm is the part of Max without a change that ends a storm.
	calm = 4
)

// wait returns how long the first change after a write is held back.
func (p Pace) wait(last history, now time.Time) time.Duration {
	if !last.written.IsZero() && now.Sub(last.written) < 2*p.Max {
		return p.Max
	}
	return p.Min + time.Duration(float64(p.Max-p.Min)*min(1, last.fullness))
}

// more returns how much longer changes that are due are held back: a storm for as
// long as it lasts.
func (p Pace) more(s *pending, now time.Time) time.Duration {
	if s.changes < stormChanges || now.Sub(s.latest) >= p.Max/calm || now.Sub(s.first) >= stormWaits*p.Max {
		return 0
	}
	return p.Max / calm
}

// history is what is remembered of a report.
type history struct {
	written  time.Time // last
	fullness float64   // its size as a part of the size limit
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
	last          history
	changes       int
	first, latest time.Time // of the changes
	due           time.Time
}

func newPacer(pace Pace) *pacer {
	return &pacer{pace: pace, now: time.Now, paces: map[types.NamespacedName]*pending{}}
}

// changed notes a change. When it is the first since the last write, the report
// has to be looked at after wait; otherwise that is arranged already.
func (p *pacer) changed(key types.NamespacedName) (wait time.Duration, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, now := p.of(key), p.now()
	s.changes++
	s.latest = now
	if s.changes > 1 {
		return 0, false
	}
	wait = p.pace.wait(s.last, now)
	s.first, s.due = now, now.Add(wait)
	return wait, true
}

func (p *pacer) of(key types.NamespacedName) *pending {
	s := p.paces[key]
	if s == nil {
		s = &pending{}
		p.paces[key] = s
	}
	return s
}

// batch is the changes that one write carries.
type batch struct {
	changes int
	first   time.Time // when the first of them came
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
	now := p.now()
	if now.Before(s.due) {
		return batch{}, s.due.Sub(now)
	}
	if wait := p.pace.more(s, now); wait > 0 {
		s.due = now.Add(wait)
		return batch{}, wait
	}
	b = batch{changes: s.changes, first: s.first}
	s.changes = 0
	return b, 0
}

// written notes that the report was written.
func (p *pacer) written(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of(key).last.written = p.now()
}

// sized notes how large the report is, as a part of the size limit.
func (p *pacer) sized(key types.NamespacedName, fullness float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of(key).last.fullness = fullness
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
