// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// endings are the removals that wait for something on their cluster, for the metrics. A restart may
// lose them.
type endings struct {
	now func() time.Time

	mu   sync.Mutex
	apps map[types.NamespacedName][]waitingEnd
}

type waitingEnd struct {
	work     types.UID
	why      decide.Why
	waitsFor string
	since    time.Time
}

// ends has the removals of this process.
var ends = &endings{now: time.Now, apps: map[types.NamespacedName][]waitingEnd{}}

func init() { metrics.Registry.MustRegister(ends) }

// set replaces the waiting removals of an Application.
func (e *endings) set(plan decide.Plan, verdict decide.Verdict) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.apps[plan.Key]
	delete(e.apps, plan.Key)
	for _, f := range plan.Fates {
		if !verdict.May(f) || f.Next != decide.StepWait {
			continue
		}
		now := waitingEnd{work: f.UID, why: f.Why, waitsFor: f.Wait.For, since: e.now()}
		if i := slices.IndexFunc(before, func(w waitingEnd) bool { return w.work == f.UID }); i >= 0 {
			now.since = before[i].since
		}
		e.apps[plan.Key] = append(e.apps[plan.Key], now)
	}
}

// waiting returns when this process first observed that the removal of a work of an Application
// waits, or the zero time.
func (e *endings) waiting(app types.NamespacedName, work types.UID) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.apps[app] {
		if w.work == work {
			return w.since
		}
	}
	return time.Time{}
}

// Describe implements [prometheus.Collector].
func (e *endings) Describe(ch chan<- *prometheus.Desc) {
	endingGauge.Describe(ch)
	endingAge.Describe(ch)
}

// Collect implements [prometheus.Collector].
func (e *endings) Collect(ch chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	endingGauge.Reset()
	oldest := map[string]time.Duration{}
	for _, list := range e.apps {
		for _, w := range list {
			endingGauge.WithLabelValues(string(w.why), w.waitsFor).Inc()
			oldest[w.waitsFor] = max(oldest[w.waitsFor], e.now().Sub(w.since))
		}
	}
	for _, waitsFor := range decide.Waits {
		endingAge.WithLabelValues(waitsFor).Set(oldest[waitsFor].Seconds())
	}
	endingGauge.Collect(ch)
	endingAge.Collect(ch)
}
