// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

var (
	lastSuccess = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_last_success_timestamp_seconds",
		Help: "Unix time of the last poll of search in which nothing failed; 0 before the first.",
	})
	pollSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "resourcesync_poll_seconds",
		Help:    "Seconds from the start of a poll until its reports are written.",
		Buckets: prometheus.ExponentialBuckets(0.05, 2, 12),
	})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "resourcesync_errors_total",
		Help: "Failures. kind is why a request to search failed, \"write\" for a report that could not be written or removed, \"odd\" for a row left out.",
	}, []string{"kind"})
	clustersStale = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_clusters_stale",
		Help: "Managed clusters whose data is older than the last poll.",
	})
	reports = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_reports",
		Help: "Intermediate reports in the directory.",
	})
	writes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "resourcesync_writes_total",
		Help: "Intermediate reports written.",
	})
)

func init() {
	metrics.Registry.MustRegister(lastSuccess, pollSeconds, failures, clustersStale, reports, writes)
	for _, k := range search.Kinds {
		failures.WithLabelValues(string(k)) // so that a rate has a start
	}
	failures.WithLabelValues("write")
	failures.WithLabelValues("odd")
}
