// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	applicationsGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "propagation_applications",
		Help: "Hub Applications that carry the pull label or the cluster annotation; state is delivered, refused, observed (read on the managed cluster, not delivered) or paused (something waits for the end of a pause), reason says why (for a delivered one: Delivered, or its first warning).",
	}, []string{"state", "reason"})
	worksWritten = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "propagation_manifestworks_written_total",
		Help: "ManifestWorks written to the hub; action is create or update.",
	}, []string{"action"})
	worksWithdrawn = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "propagation_manifestworks_withdrawn_total",
		Help: "ManifestWorks deleted from the hub; reason says what was no longer the case.",
	}, []string{"reason"})
	deliverySeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "propagation_delivery_seconds",
		Help:    "Time from a change of a hub Application being seen to its ManifestWork being written.",
		Buckets: seconds,
	})
	appliedSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "propagation_applied_seconds",
		Help:    "Time from a change of a hub Application being seen to its managed cluster having applied it.",
		Buckets: seconds,
	})
	errorsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "propagation_errors_total",
		Help: "Attempts that failed and are tried again; kind is conflict (another client wrote first), throttled (the API server is busy), refused (it said no) or other.",
	}, []string{"kind"})

	seconds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
)

const (
	stateDelivered = "delivered"
	stateRefused   = "refused"
	statePaused    = "paused"
	stateObserved  = "observed"
)

func init() {
	metrics.Registry.MustRegister(applicationsGauge, worksWritten, worksWithdrawn, deliverySeconds, appliedSeconds, errorsTotal)
	for _, action := range []string{"create", "update"} {
		worksWritten.WithLabelValues(action) // so that a rate has a zero to start from
	}
	for _, kind := range []string{"conflict", "throttled", "refused", "other"} {
		errorsTotal.WithLabelValues(kind)
	}
}

// errorKind sorts errors for [errorsTotal].
func errorKind(err error) string {
	switch {
	case apierrors.IsConflict(err):
		return "conflict"
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err):
		return "throttled"
	case isRejected(err):
		return "refused"
	}
	return "other"
}

// tracker remembers, per Application, what the metrics need. It may be lost at any time.
type tracker struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]entry
}

type entry struct {
	state, reason string
	// changed is when a change was first seen that is not in a work yet.
	changed time.Time
	// written is the same for the change in a work that is not applied yet.
	written time.Time
}

func (b *tracker) edit(key types.NamespacedName, change func(*entry)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[key]
	change(&e)
	if b.entries == nil {
		b.entries = map[types.NamespacedName]entry{}
	}
	if e == (entry{}) {
		delete(b.entries, key)
	} else {
		b.entries[key] = e
	}
}

// note records that a change was seen.
func (b *tracker) note(key types.NamespacedName, now time.Time) {
	b.edit(key, func(e *entry) {
		if e.changed.IsZero() {
			e.changed = now
		}
	})
}

// count moves an Application to another state; "" takes it out.
func (b *tracker) count(key types.NamespacedName, state, reason string) {
	b.edit(key, func(e *entry) {
		if e.state == state && e.reason == reason {
			return
		}
		if e.state != "" {
			gauge := applicationsGauge.WithLabelValues(e.state, e.reason)
			gauge.Dec()
		}
		if state != "" {
			applicationsGauge.WithLabelValues(state, reason).Inc()
		}
		e.state, e.reason = state, reason
	})
}

// wrote records a written work.
func (b *tracker) wrote(key types.NamespacedName, action string, now time.Time) {
	worksWritten.WithLabelValues(action).Inc()
	b.edit(key, func(e *entry) {
		if !e.changed.IsZero() {
			deliverySeconds.Observe(now.Sub(e.changed).Seconds())
			e.written, e.changed = e.changed, time.Time{}
		}
	})
}

// unchanged records that nothing had to be written.
func (b *tracker) unchanged(key types.NamespacedName, work *workv1.ManifestWork, now time.Time) {
	b.edit(key, func(e *entry) { e.changed = time.Time{} })
	if appliedAt(work) == metav1.ConditionTrue {
		b.applied(key, now)
	}
}

// applied records that the managed cluster has what was written.
func (b *tracker) applied(key types.NamespacedName, now time.Time) {
	b.edit(key, func(e *entry) {
		if !e.written.IsZero() {
			appliedSeconds.Observe(now.Sub(e.written).Seconds())
			e.written = time.Time{}
		}
	})
}

func (b *tracker) forget(key types.NamespacedName) {
	b.count(key, "", "")
	b.edit(key, func(e *entry) { *e = entry{} })
}

// isRejected reports whether the API server will say the same again.
func isRejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotFound(err)
}
