// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// memory has the facts that the status of an Application does not show. After a restart, every
// grace period starts again. The status still shows which changes are pending.
type memory struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]entry // only Applications that have one
	// sources are the ManifestWorks from which the stored statuses come (see
	// status.FillTransientGaps).
	sources map[types.NamespacedName]types.UID
	// initial is how many Applications wait for their first status.
	initial int
}

// of returns the entry of an Application, and how many others wait for their first status.
func (m *memory) of(app types.NamespacedName) (e entry, initial int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e = m.entries[app]
	initial = m.initial
	if e.cause == initialStatus {
		initial--
	}
	return e, initial
}

// put stores the entry of an Application, except for the time of its feedback.
func (m *memory) put(app types.NamespacedName, e entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.feedback = m.entries[app].feedback
	m.set(app, e)
}

// set stores an entry. The caller holds the lock.
func (m *memory) set(app types.NamespacedName, e entry) {
	if m.entries[app].cause == initialStatus {
		m.initial--
	}
	if e.cause == initialStatus {
		m.initial++
	}
	if e == (entry{}) {
		delete(m.entries, app)
		return
	}
	if m.entries == nil {
		m.entries = map[types.NamespacedName]entry{}
	}
	m.entries[app] = e
}

// forget removes everything about an Application.
func (m *memory) forget(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(app, entry{})
	delete(m.sources, app)
}

// source returns the ManifestWork from which the stored status comes, or empty if it is not known.
func (m *memory) source(app types.NamespacedName) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sources[app]
}

// setSource records the work from which the stored status comes. An empty UID means none.
func (m *memory) setSource(app types.NamespacedName, work types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if work == "" {
		delete(m.sources, app)
		return
	}
	if m.sources == nil {
		m.sources = map[types.NamespacedName]types.UID{}
	}
	m.sources[app] = work
}

// feedbackSeen records when feedback was observed, unless earlier feedback is not written yet.
func (m *memory) feedbackSeen(app types.NamespacedName, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[app]; e.feedback.IsZero() {
		e.feedback = at
		m.set(app, e)
	}
}

// takeFeedback returns and removes the time of the feedback that is about to be written, or zero.
func (m *memory) takeFeedback(app types.NamespacedName) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[app]
	at := e.feedback
	e.feedback = time.Time{}
	m.set(app, e)
	return at
}

// returnFeedback restores the time of feedback that was not written.
func (m *memory) returnFeedback(app types.NamespacedName, at time.Time) {
	if at.IsZero() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[app]
	e.feedback = at
	m.set(app, e)
}
