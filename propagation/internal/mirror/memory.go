// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/status"
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

// unanswered remembers what was said of Applications before a change that their agents
// have not applied, or that their Argo CD has not compared for yet. After a restart it
// goes by the status that shows one as waiting.
type unanswered struct {
	mu     sync.Mutex
	before map[types.NamespacedName]beforeChange
}

type beforeChange struct {
	said status.Facts
	// applied is when the agent was first seen to have applied the change.
	applied time.Time
}

// left returns how much longer an Application that is shown as waiting for its cluster stays
// so: while the cluster has applied the change and says what it said before, until the time
// is up. reason is that of the observation.
func (u *unanswered) left(app types.NamespacedName, says status.Facts, reason status.Reason, shown bool, now time.Time, grace time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	is, known := u.before[app]
	switch {
	case reason == status.ChangePending:
		u.put(app, beforeChange{said: says})
		return 0
	case reason != "":
		return 0
	case !shown:
		delete(u.before, app)
		return 0
	case known && !says.Repeats(&is.said):
		return 0
	case !known:
		is.said = says
	}
	if is.applied.IsZero() {
		is.applied = now
		u.put(app, is)
	}
	return max(0, grace-now.Sub(is.applied))
}

// put needs the lock.
func (u *unanswered) put(app types.NamespacedName, is beforeChange) {
	if u.before == nil {
		u.before = map[types.NamespacedName]beforeChange{}
	}
	u.before[app] = is
}

func (u *unanswered) forget(app types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.before, app)
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
