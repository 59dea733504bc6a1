// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
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
		Help: "Failures. kind is why a request to search failed, \"access\" also for each poll that shows no managed cluster, \"incomplete\" also for each cluster of which two reads differ, \"write\" for a report that could not be written or removed.",
	}, []string{"kind"})
	clusterStates = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "resourcesync_clusters",
		Help: "Managed clusters by state: \"unread\" have not given a trustworthy answer since the pod began, \"hidden\" are not shown to the account by search, \"held\" have resources or Applications that search leaves out and nothing proves to be gone, \"suspect\" are asked about in smaller batches since one with them failed, \"left_out\" have more than fits into reports.",
	}, []string{"state"})
	clustersStale = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "resourcesync_clusters_stale",
		Help: "Managed clusters whose data is older than the last polls, or that search shows and that have never been read.",
	})
	heldNow = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "resourcesync_held",
		Help: "What search leaves out and nothing proves to be gone, by kind: resources of Applications that are there, and Applications.",
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
	metrics.Registry.MustRegister(lastSuccess, pollSeconds, failures, clusterStates, clustersStale, heldNow, leftOutNow, oddRows, directoryBytes, reports, writes)
	for _, k := range search.Kinds {
		failures.WithLabelValues(string(k)) // so that a rate has a start
	}
	failures.WithLabelValues("write")
}

// updateMetrics sets the gauges after a poll.
func (p *Poller) updateMetrics(view fleet.View) {
	stale, holding, resources, applications := 0, 0, 0, 0
	for _, state := range p.known {
		if state.StaleSince != nil {
			stale++
		}
		absent, _ := translate.Held(state.Applications)
		if !absent.Empty() {
			holding++
		}
		resources += len(absent.Resources)
		applications += len(absent.Applications)
	}
	unread, hidden := 0, 0
	for c := range p.unread.everywhere(p.written) {
		if p.absent() {
			break // a hub without search lacks nothing
		}
		unread++
		if state, known := p.known[c]; (!known || state.StaleSince == nil) && (p.seen == nil || p.seen[c]) {
			stale++
		}
	}
	for _, c := range view.Clusters {
		if p.seen != nil && !p.seen[c] {
			hidden++
		}
	}
	cut, cutClusters := p.budget.left()
	clustersStale.Set(float64(stale))
	for state, n := range map[string]int{"unread": unread, "hidden": hidden, "held": holding, "suspect": len(p.suspects), "left_out": len(cutClusters)} {
		clusterStates.WithLabelValues(state).Set(float64(n))
	}
	heldNow.WithLabelValues("resources").Set(float64(resources))
	heldNow.WithLabelValues("applications").Set(float64(applications))
	leftOutNow.WithLabelValues("resources").Set(float64(cut.Resources + p.files.cutResources()))
	leftOutNow.WithLabelValues("applications").Set(float64(cut.Applications))
	leftOutNow.WithLabelValues("reports").Set(float64(len(p.files.refused)))
	directoryBytes.Set(float64(p.files.total))
	reports.Set(float64(len(p.written)))
	p.logHeld()
	p.logLeftOut(cutClusters)
}
