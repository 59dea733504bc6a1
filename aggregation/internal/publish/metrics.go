// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	bytesGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "aggregation_report_bytes",
		Help: "Size of a MulticlusterApplicationSetReport as the API server stores it, in bytes; namespace and name are the ApplicationSet's.",
	}, []string{"namespace", "name"})

	leftOutGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "aggregation_report_rows_left_out",
		Help: "Rows that did not fit into a MulticlusterApplicationSetReport (its summary counts them); namespace and name are the ApplicationSet's.",
	}, []string{"namespace", "name"})

	writesTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "aggregation_report_writes_total",
		Help: "Writes of MulticlusterApplicationSetReports, by operation: create, update or delete.",
	}, []string{"operation"})

	errorsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "aggregation_report_errors_total",
		Help: "Reports that could not be brought up to date, by kind: conflict (another client wrote the report first; tried again at once), api (any other answer of the API server).",
	}, []string{"kind"})

	foreignGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "aggregation_reports_foreign",
		Help: "MulticlusterApplicationSetReports that have an ApplicationSet's name but neither aggregation's label nor its field manager, so that aggregation does not change them.",
	})

	publishSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "aggregation_publish_seconds",
		Help:    "Seconds from a change that aggregation saw (feedback, cluster, intermediate report) to the write that carries it, of the oldest change in each write.",
		Buckets: []float64{.05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 10, 15, 20, 30},
	})
)

func init() {
	metrics.Registry.MustRegister(bytesGauge, leftOutGauge, writesTotal, errorsTotal, foreignGauge, publishSeconds)
	for _, kind := range []string{"conflict", "api"} {
		errorsTotal.WithLabelValues(kind) // so that a rate has a zero to start from
	}
	for _, operation := range []string{"create", "update", "delete"} {
		writesTotal.WithLabelValues(operation)
	}
}

func forgetMetrics(key types.NamespacedName) {
	bytesGauge.DeleteLabelValues(key.Namespace, key.Name)
	leftOutGauge.DeleteLabelValues(key.Namespace, key.Name)
}
