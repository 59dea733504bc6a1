// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// gracePeriods remembers since when something has been missing: what is gone for a moment
// only must not cost a deployment. A restart starts every grace period anew.
type gracePeriods struct {
	mu    sync.Mutex
	since map[types.NamespacedName]map[string]time.Time
}

// applicationGone is what is missing when it is the Application itself; otherwise it
// is the binding to the cluster of that name.
const applicationGone = ""

// missing notes that what an Application needs is missing and returns for how long
// it has been.
func (g *gracePeriods) missing(app types.NamespacedName, what string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	since, there := g.since[app][what]
	if !there {
		if g.since == nil {
			g.since = map[types.NamespacedName]map[string]time.Time{}
		}
		if g.since[app] == nil {
			g.since[app] = map[string]time.Time{}
		}
		since, g.since[app][what] = now, now
	}
	return now.Sub(since)
}

// found ends a grace period.
func (g *gracePeriods) found(app types.NamespacedName, what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if delete(g.since[app], what); len(g.since[app]) == 0 {
		delete(g.since, app)
	}
}

// forget ends all grace periods of an Application.
func (g *gracePeriods) forget(app types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.since, app)
}
