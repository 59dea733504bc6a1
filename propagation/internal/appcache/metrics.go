// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appcache

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

var rejectedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "propagation_feedback_rejected_total",
	Help: "Values that managed clusters wrote and that were cut (too_long), repaired (invalid_text) or left out (unknown_code, invalid_time, too_many), each time such an object is read.",
}, []string{"reason"})

var specsOmitted = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "propagation_specs_omitted",
	Help: "Applications of which a part is not kept in memory, since they are large, or the large specs of their namespace or of the hub take too much: it is read each time it is needed.",
})

func countRejected(rejected *contract.Rejected) {
	rejected.Each(func(reason string, n int) { rejectedTotal.WithLabelValues(reason).Add(float64(n)) })
}

func init() {
	metrics.Registry.MustRegister(rejectedTotal, specsOmitted)
	countRejected(&contract.Rejected{}) // so that a rate starts at zero
}
