// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

var (
	phaseGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "rollout_phase",
		Help: "1 for the phase that an ApplicationSetRollout is in: Idle, Progressing, Halted, RollingBack or RolledBack.",
	}, []string{"rollout_namespace", "rollout", "phase"})
	failedGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "rollout_clusters_failed",
		Help: "Clusters of an ApplicationSetRollout that failed with the candidate, were late, or were away for too long.",
	}, []string{"rollout_namespace", "rollout"})
	endsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rollout_transitions_total",
		Help: "Times that an ApplicationSetRollout began (Progressing), was Promoted, Halted, began to go back (RollingBack) or was RolledBack.",
	}, []string{"to"})
)

func init() {
	metrics.Registry.MustRegister(phaseGauge, failedGauge, endsTotal)
	for _, to := range []rollout.Phase{rollout.Progressing, "Promoted", rollout.Halted, rollout.RollingBack, rollout.RolledBack} {
		endsTotal.WithLabelValues(string(to)) // so that a rate has a zero to start from
	}
}

func observe(r *rollout.ApplicationSetRollout, next *rollout.Status) {
	unobserve(types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
	if next.Phase != "" {
		phaseGauge.WithLabelValues(r.Namespace, r.Name, string(next.Phase)).Set(1)
		failedGauge.WithLabelValues(r.Namespace, r.Name).Set(float64(next.Counts.Failed))
	}
}

func unobserve(key types.NamespacedName) {
	all := prometheus.Labels{"rollout_namespace": key.Namespace, "rollout": key.Name}
	phaseGauge.DeletePartialMatch(all)
	failedGauge.DeletePartialMatch(all)
}

func finished(to string) { endsTotal.WithLabelValues(to).Inc() }
