// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// These are values of the metric label for the cause that holds removals.
const (
	heldByLimit    = "limit"
	heldByHub      = "hub"
	heldByOverride = "annotation"
)

var (
	withdrawalsHeld = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "propagation_deletion_budget_held",
		Help: "Deliveries of an ApplicationSet (or, with that empty, of a namespace's other Applications) that would be withdrawn and are held; by is limit (of the group, or of the cluster that caused it), hub (the limit of all) or annotation (an operator's).",
	}, []string{"namespace", "applicationset", "by"})
	withdrawalsLimit = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "propagation_deletion_budget_limit",
		Help: "How many deliveries of a held ApplicationSet (or, with that empty, of a namespace's other Applications) might have been withdrawn within the window.",
	}, []string{"namespace", "applicationset"})
	withdrawalsBlocked = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "propagation_deletion_budget_blocked",
		Help: "1 while nothing is withdrawn, since the ConfigMap of withdrawals cannot be read or written.",
	})
)

func init() {
	metrics.Registry.MustRegister(withdrawalsHeld, withdrawalsLimit, withdrawalsBlocked)
}

// series are the metric labels of a held group.
type series struct{ namespace, set, by string }

// gauges are the metrics of holds.
type gauges struct{ shown map[series]bool }

// show sets the metrics to the present holds.
func (g *gauges) show(holds []heldIn) {
	counts := map[series]int{}
	for _, h := range holds {
		if h.works == 0 {
			continue
		}
		one := series{h.group.Namespace, h.group.Set, heldByLimit}
		switch {
		case h.Override.Effect != decide.None:
			one.by = heldByOverride
		case h.ofHub():
			one.by = heldByHub
		case !h.Lane.Kind.OfCluster():
			withdrawalsLimit.WithLabelValues(one.namespace, one.set).Set(float64(h.Limit))
		}
		counts[one] += h.works
	}
	shown := map[series]bool{}
	for one, n := range counts {
		withdrawalsHeld.WithLabelValues(one.namespace, one.set, one.by).Set(float64(n))
		shown[one] = true
	}
	for old := range g.shown {
		if shown[old] {
			continue
		}
		withdrawalsHeld.DeleteLabelValues(old.namespace, old.set, old.by)
		if old.by == heldByLimit {
			withdrawalsLimit.DeleteLabelValues(old.namespace, old.set)
		}
	}
	g.shown = shown
}
