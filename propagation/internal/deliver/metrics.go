// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/prometheus/client_golang/prometheus"

	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
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
		Help: "Attempts that failed and are tried again; kind is conflict (another client wrote first), throttled (the API server is busy), refused (the API server rejected it) or other.",
	}, []string{"kind"})

	// [endings] sets endingGauge and endingAge.
	endingGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "propagation_works_ending",
		Help: "ManifestWorks that are to be deleted, and wait for something on their cluster; why is the reason for the deletion, waits_for is agent (to apply how it ends), refusal (the agent cannot apply that), finalizer or automation (of another field manager there) or spec (it cannot be decoded).",
	}, []string{"why", "waits_for"})
	endingAge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "propagation_works_ending_oldest_seconds",
		Help: "For how long the one of propagation_works_ending that has waited longest has waited, as far as this process has seen it; 0 where none waits.",
	}, []string{"waits_for"})

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
		worksWritten.WithLabelValues(action) // so that a rate starts at zero
	}
	for _, kind := range []string{"conflict", "throttled", "refused", "other"} {
		errorsTotal.WithLabelValues(kind)
	}
}

// errorKind returns the label of an error in [errorsTotal].
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

// tracker has the data of each Application that the metrics need. A restart may lose it.
type tracker struct {
	mu     sync.Mutex
	states map[types.NamespacedName]state
	// changes are the changes that are not applied yet.
	changes map[types.NamespacedName]pendingChange
}

// state is the metric labels of an Application.
type state struct{ name, reason string }

type pendingChange struct {
	// seen is when propagation observed the first change that no work has yet. written is the same
	// time for a change that is in a work, but that the agent has not applied.
	seen, written time.Time
}

func (t *tracker) edit(key types.NamespacedName, edit func(*pendingChange)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.changes[key]
	edit(&c)
	if c == (pendingChange{}) {
		delete(t.changes, key)
		return
	}
	if t.changes == nil {
		t.changes = map[types.NamespacedName]pendingChange{}
	}
	t.changes[key] = c
}

// note records that a change was observed.
func (t *tracker) note(key types.NamespacedName, now time.Time) {
	t.edit(key, func(c *pendingChange) {
		if c.seen.IsZero() {
			c.seen = now
		}
	})
}

// count moves an Application to another state, or removes it from the metrics for "".
func (t *tracker) count(key types.NamespacedName, name, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, after := t.states[key], state{name, reason}
	if before.name == name && (name == "" || before == after) {
		return
	}
	if before.name != "" {
		applicationsGauge.WithLabelValues(before.name, before.reason).Dec()
		delete(t.states, key)
	}
	if name == "" {
		return
	}
	applicationsGauge.WithLabelValues(name, reason).Inc()
	if t.states == nil {
		t.states = map[types.NamespacedName]state{}
	}
	t.states[key] = after
}

// wrote records that a work was written.
func (t *tracker) wrote(key types.NamespacedName, action string, now time.Time) {
	worksWritten.WithLabelValues(action).Inc()
	t.edit(key, func(c *pendingChange) {
		if !c.seen.IsZero() {
			deliverySeconds.Observe(now.Sub(c.seen).Seconds())
			c.written, c.seen = c.seen, time.Time{}
		}
	})
}

// unchanged records that no write was necessary.
func (t *tracker) unchanged(key types.NamespacedName, work *manifestcache.Work, now time.Time) {
	t.edit(key, func(c *pendingChange) { c.seen = time.Time{} })
	if work.Facts.Applied {
		t.applied(key, now)
	}
}

// applied records that the managed cluster has applied the last write.
func (t *tracker) applied(key types.NamespacedName, now time.Time) {
	t.edit(key, func(c *pendingChange) {
		if !c.written.IsZero() {
			appliedSeconds.Observe(now.Sub(c.written).Seconds())
			c.written = time.Time{}
		}
	})
}

func (t *tracker) forget(key types.NamespacedName) {
	t.count(key, "", "")
	t.edit(key, func(c *pendingChange) { *c = pendingChange{} })
}

// isRejected reports whether the API server would return the same error again.
func isRejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotFound(err)
}

// rejection returns the first of several joined errors that the API server would return again, or
// nil.
func rejection(err error) error {
	if joined, is := err.(interface{ Unwrap() []error }); is { // errors.As would drop the prefix of an error
		for _, one := range joined.Unwrap() {
			if refusal := rejection(one); refusal != nil {
				return refusal
			}
		}
		return nil
	}
	if isRejected(err) {
		return err
	}
	return nil
}
