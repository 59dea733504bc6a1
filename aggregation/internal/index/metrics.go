// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var unreadableTotal = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "aggregation_intermediate_errors_total",
	Help: "Intermediate reports that were there and could not be read; what they said before stays in the report.",
})

var staleGauge = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "aggregation_clusters_stale",
	Help: "Managed clusters that have rows in a report and are not available, so that their rows are Unknown.",
})

func init() { metrics.Registry.MustRegister(unreadableTotal, staleGauge) }
