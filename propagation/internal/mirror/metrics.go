// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

const (
	resultWritten  = "written"
	resultConflict = "conflict"
	resultError    = "error"
)

var (
	feedbackSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "propagation_feedback_seconds",
		Help:    "Time from feedback being seen on a ManifestWork to the hub Application's status saying it.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	})
	statusWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "propagation_status_writes_total",
		Help: "Patches of hub Application status; result is written, conflict (tried again) or error (tried again).",
	}, []string{"result"})
	clustersStale = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "propagation_clusters_stale",
		Help: "Accepted managed clusters that are not available, whose Applications are therefore Unknown.",
	})
	comparisonOldest = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "propagation_comparison_oldest_seconds",
		Help: "How long the available cluster whose Argo CD has reported no comparison for the longest time has reported none.",
	}, func() float64 { return comparing.Load().oldest().Seconds() })
)

func init() {
	metrics.Registry.MustRegister(feedbackSeconds, statusWrites, clustersStale, comparisonOldest)
	for _, result := range []string{resultWritten, resultConflict, resultError} {
		statusWrites.WithLabelValues(result) // so that a rate starts at zero
	}
}
