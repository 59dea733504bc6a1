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
	// Max is the time from the beginning of one write to that of the next, and twice
	// the wait of a lone change of a report as large as the size limit. In a storm,
	// which is more than stormRate changes a second over all reports, everything waits
	// until it is over, but no longer than six to thirty times Max: twenty times as
	// long as the writes of what waits take.
	Max time.Duration
}

// wait returns how long the first change after a write is held back. What a write
// costs grows with the report, not with what changed, so the beginnings of writes
// keep a distance: Max, or twice what the last one took, since a write that takes
// long tells of a server that has much to do. It is never longer than in a storm.
func (p Pace) wait(last history, now time.Time) time.Duration {
	lone := p.Min + time.Duration(float64(max(0, p.Max/2-p.Min))*min(1, last.fullness))
	if last.begun.IsZero() {
		return lone
	}
	distance := max(p.Max, min(2*min(last.took, last.tookBefore), stormWaitsMost*p.Max))
	return max(lone, distance-now.Sub(last.begun))
}

// history is what is remembered of a report.
type history struct {
	begun time.Time // when its last write was
	// took is how long the last write took that succeeded, tookBefore the one before
	// it: a single one may have met a pause of the server.
	took, tookBefore time.Duration
	fullness         float64 // its size as a part of the size limit
}

// pacer knows when each report is due. It is safe for concurrent use.
type pacer struct {
	pace Pace
	now  func() time.Time

	mu      sync.Mutex
	flood   flood // of the changes of all reports
	waiting map[types.NamespacedName]*pending
	last    map[types.NamespacedName]history
	// writes is how long a write of every report that waits takes, going by its last.
	writes time.Duration
}

// pending is a report's changes that are not written yet.
type pending struct {
	batch
	due time.Time
}

// batch is the changes that one write carries.
type batch struct {
	changes int
	first   time.Time // when the first of them came
}

func newPacer(pace Pace) *pacer {
	return &pacer{
		pace: pace, now: time.Now,
		waiting: map[types.NamespacedName]*pending{}, last: map[types.NamespacedName]history{},
	}
}

// changed notes a change. When it is the first since the last write, the report
// has to be looked at after wait; otherwise that is arranged already.
func (p *pacer) changed(key types.NamespacedName) (wait time.Duration, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.flood.add(now)
	if s := p.waiting[key]; s != nil {
		s.changes++
		return 0, false
	}
	wait = p.pace.wait(p.last[key], now)
	p.wait(key, &pending{batch: batch{changes: 1, first: now}, due: now.Add(wait)})
	return wait, true
}

// take returns the changes that are due, and none when there are none. While there
// are some that have to wait, it returns for how long.
func (p *pacer) take(key types.NamespacedName) (b batch, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.waiting[key]
	if s == nil {
		return batch{}, 0
	}
	now := p.now()
	if now.Before(s.due) {
		return batch{}, s.due.Sub(now)
	}
	bound := s.first.Add(p.pace.patience(p.writes)).Sub(now)
	if wait := min(bound, p.flood.over(now)); wait > 0 {
		return batch{}, wait
	}
	p.wait(key, nil)
	last := p.last[key]
	last.begun = now
	p.last[key] = last
	return s.batch, 0
}

// wait has a report wait, or no longer when pending is nil.
func (p *pacer) wait(key types.NamespacedName, pending *pending) {
	if p.waiting[key] != nil {
		p.writes -= p.last[key].took
	}
	if pending == nil {
		delete(p.waiting, key)
		return
	}
	p.waiting[key] = pending
	p.writes += p.last[key].took
}

// written notes that a batch was written. A write that carried no change, to repair
// what another client did to the report, says nothing about how long writes take.
func (p *pacer) written(key types.NamespacedName, b batch) {
	if b.changes == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[key]
	last.took, last.tookBefore = p.now().Sub(last.begun), last.took
	if p.waiting[key] != nil {
		p.writes += last.took - last.tookBefore
	}
	p.last[key] = last
}

// sized notes how large the report is, as a part of the size limit.
func (p *pacer) sized(key types.NamespacedName, fullness float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[key]
	last.fullness = fullness
	p.last[key] = last
}

// failed puts a batch back: it is due at once, and its first change stays the first.
func (p *pacer) failed(key types.NamespacedName, b batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.changes == 0 {
		return
	}
	if s := p.waiting[key]; s != nil {
		b.changes += s.changes
	}
	p.wait(key, &pending{batch: b, due: p.now()})
}

// forget drops a report that is gone.
func (p *pacer) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait(key, nil)
	delete(p.last, key)
}
