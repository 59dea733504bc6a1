// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

var unreadableGauge = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "aggregation_intermediate_reports_unreadable",
	Help: "Intermediate reports that are there and cannot be read now; what they said before stays in the report, and they are tried again.",
})

var refusedGauge = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "aggregation_intermediate_entries_refused",
	Help: "Entries of the intermediate reports (Applications, resources, conditions) that are left out since a name in them is missing, too long or has control characters.",
})

var staleGauge = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "aggregation_clusters_stale",
	Help: "Managed clusters that have rows of pulled Applications in a report and are not available, so that their rows are Unknown.",
})

var rejectedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "aggregation_feedback_rejected_total",
	Help: "Values that managed clusters wrote and that were cut (too_long), repaired (invalid_text) or left out (unknown_code, invalid_time, too_many), each time such an object is read.",
}, []string{"reason"})

func count(rejected *contract.Rejected) {
	rejected.Each(func(reason string, n int) { rejectedTotal.WithLabelValues(reason).Add(float64(n)) })
}

func init() {
	metrics.Registry.MustRegister(unreadableGauge, refusedGauge, staleGauge, rejectedTotal)
	count(&contract.Rejected{}) // so that a rate has a zero to start from
}
