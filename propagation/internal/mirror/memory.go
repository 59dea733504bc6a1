// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// gracePeriods remembers since when a change of a work waits for its agent. A restart
// starts every grace period anew.
type gracePeriods struct {
	mu      sync.Mutex
	pending map[types.NamespacedName]pendingChange
}

type pendingChange struct {
	work       types.UID
	generation int64
	since      time.Time
}

// left returns how much of the grace period the work's agent has left, zero when it does
// not wait or the time is up.
func (g *gracePeriods) left(app types.NamespacedName, work *workv1.ManifestWork, waits bool, now time.Time, grace time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !waits {
		delete(g.pending, app)
		return 0
	}
	is, known := g.pending[app]
	if !known || is.work != work.UID || is.generation != work.Generation {
		is = pendingChange{work: work.UID, generation: work.Generation, since: now}
		if g.pending == nil {
			g.pending = map[types.NamespacedName]pendingChange{}
		}
		g.pending[app] = is
	}
	return max(0, grace-now.Sub(is.since))
}

// count returns how many Applications wait.
func (g *gracePeriods) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pending)
}

func (g *gracePeriods) forget(app types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pending, app)
}

// speakers remembers of which ManifestWork each Application's status speaks. It is
// empty after a start, since the status does not say (see [status.FillTransientGaps]).
type speakers struct {
	mu    sync.Mutex
	works map[types.NamespacedName]types.UID
}

func (s *speakers) of(app types.NamespacedName) types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.works[app]
}

// note records which work the status that is now stored comes from; an empty UID: none.
func (s *speakers) note(app types.NamespacedName, work types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if work == "" {
		delete(s.works, app)
		return
	}
	if s.works == nil {
		s.works = map[types.NamespacedName]types.UID{}
	}
	s.works[app] = work
}

// arrivals remembers when feedback was first seen that is not written yet.
type arrivals struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

func (a *arrivals) note(app types.NamespacedName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since == nil {
		a.since = map[types.NamespacedName]time.Time{}
	}
	if _, there := a.since[app]; !there {
		a.since[app] = now
	}
}

func (a *arrivals) take(app types.NamespacedName) (since time.Time, there bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, there = a.since[app]
	delete(a.since, app)
	return since, there
}

// giveBack returns what was taken, for the next attempt.
func (a *arrivals) giveBack(app types.NamespacedName, since time.Time, there bool) {
	if there {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.since == nil {
			a.since = map[types.NamespacedName]time.Time{}
		}
		a.since[app] = since
	}
}
