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
		Help: "Unix time of the last successful poll of search, in which few or no clusters failed; 0 before the first.",
	})
	searchInterval = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_search_interval_seconds",
		Help: "Seconds between the starts of two polls, as --search-interval sets them.",
	})
	pollSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "resourcesync_poll_seconds",
		Help:    "Seconds from the start of a poll until its reports are written.",
		Buckets: prometheus.ExponentialBuckets(0.05, 2, 12),
	})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "resourcesync_errors_total",
		Help: "Failures. kind is why a request to search failed, \"access\" also for each poll that shows no managed cluster, \"write\" for a report that could not be written or removed.",
	}, []string{"kind"})
	clusterStates = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "resourcesync_clusters",
		Help: "Managed clusters by state: \"unread\" have not given a trustworthy answer since the pod began, \"hidden\" are not shown to the account by search, \"held\" have resources or Applications that search has left out for less than five minutes, \"suspect\" are requested alone since they failed or were slow, \"left_out\" have more than fits into reports.",
	}, []string{"state"})
	clustersStale = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_clusters_stale",
		Help: "Managed clusters whose data is older than the last polls, or that search shows and that have never been read.",
	})
	heldNow = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "resourcesync_held",
		Help: "What search has left out for less than five minutes, by kind: resources of Applications that are there, and Applications.",
	}, []string{"kind"})
	leftOutNow = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "resourcesync_left_out",
		Help: "What did not fit, by kind: resources and Applications of a cluster, and whole reports.",
	}, []string{"kind"})
	oddRows = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_odd_rows",
		Help: "Rows of search that the last poll left out since they are not what search promises.",
	})
	directoryBytes = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_directory_bytes",
		Help: "Bytes of all intermediate reports.",
	})
	reportsNow = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_reports",
		Help: "Intermediate reports in the directory.",
	})
	writes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "resourcesync_writes_total",
		Help: "Intermediate reports written.",
	})
)

func init() {
	metrics.Registry.MustRegister(lastSuccess, searchInterval, pollSeconds, failures, clusterStates, clustersStale, heldNow, leftOutNow, oddRows, directoryBytes, reportsNow, writes)
	for _, k := range search.Kinds {
		failures.WithLabelValues(string(k)) // so that a rate has a start
	}
	failures.WithLabelValues("write")
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
