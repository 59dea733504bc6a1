// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

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
		Help: "Failures. kind is why a request to search failed, \"access\" also for each poll that shows no managed cluster, \"write\" for a report that could not be written or removed.",
	}, []string{"kind"})
	clusterStates = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "resourcesync_clusters",
		Help: "Managed clusters by state: \"unread\" have not given a trustworthy answer since the pod began, \"hidden\" are not shown to the account by search, \"held\" have resources or Applications that search has left out for less than five minutes, \"suspect\" are requested in smaller batches since one with them failed or was slow, \"left_out\" have more than fits into reports.",
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
	metrics.Registry.MustRegister(lastSuccess, pollSeconds, failures, clusterStates, clustersStale, heldNow, leftOutNow, oddRows, directoryBytes, reportsNow, writes)
	for _, k := range search.Kinds {
		failures.WithLabelValues(string(k)) // so that a rate has a start
	}
	failures.WithLabelValues("write")
}

// updateMetrics sets the gauges after a poll, and logs what has changed. The caller holds mu.
func (p *Poller) updateMetrics() {
	stale, unread, hidden, suspects, resources, applications := 0, 0, 0, 0, 0, 0
	var holding, leftOut []string
	var cut translate.Cut
	for c, st := range p.state.clusters {
		never := st.unread && len(st.Applications) == 0 && p.access.shows(c) && !p.absent() // a hub without search lacks nothing
		unread += count(never)
		stale += count(never || st.StaleSince != nil)
		hidden += count(!p.access.shows(c))
		suspects += count(st.size > 0)
		if a, r := translate.Held(st.Applications); a+r > 0 {
			holding = append(holding, c)
			applications, resources = applications+a, resources+r
		}
		if st.leftOut != (translate.Cut{}) {
			leftOut = append(leftOut, c)
			cut.Add(st.leftOut)
		}
	}
	for _, f := range p.reports.written {
		cut.Add(f.cut)
	}
	clustersStale.Set(float64(stale))
	for state, n := range map[string]int{"unread": unread, "hidden": hidden, "held": len(holding), "suspect": suspects, "left_out": len(leftOut)} {
		clusterStates.WithLabelValues(state).Set(float64(n))
	}
	heldNow.WithLabelValues("resources").Set(float64(resources))
	heldNow.WithLabelValues("applications").Set(float64(applications))
	leftOutNow.WithLabelValues("resources").Set(float64(cut.Resources))
	leftOutNow.WithLabelValues("applications").Set(float64(cut.Applications))
	leftOutNow.WithLabelValues("reports").Set(float64(len(p.reports.refused)))
	directoryBytes.Set(float64(p.reports.total))
	reportsNow.Set(float64(len(p.reports.written)))
	oddRows.Set(float64(p.round.oddRows))
	if text := p.changes.news("odd", p.round.odd); text != "" {
		p.Log.Info("left malformed rows of search out of the reports", "rows", text, "number", p.round.oddRows)
	}
	if text := p.changes.news("held", holding); text != "" {
		p.Log.Info("search no longer returns some resources or Applications; reports keep them for "+holdFor.String(), "clusters", text)
	}
	if text := p.changes.news("left out", leftOut); text != "" {
		p.Log.Error(nil, "managed clusters have more Applications and resources than fit into the reports, which leave out the rest",
			"clusters", text, "remedy", "split Applications of many thousand resources")
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
