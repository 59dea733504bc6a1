// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	foreignCRD = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "gitopscluster_foreign_crd",
		Help: "1 while GitOpsClusters are not worked on, since their CustomResourceDefinition is missing or another project's.",
	})
	clusterCounts = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gitopscluster_clusters",
		Help: "Clusters of each GitOpsCluster (namespace, name) by state: selected, registered, leaving, or taken by a Secret of another writer.",
	}, []string{"namespace", "name", "state"})
)

// registerMetrics registers the metrics. They do not exist while the capability is off.
func registerMetrics() error {
	for _, c := range []prometheus.Collector{foreignCRD, clusterCounts} {
		if err := metrics.Registry.Register(c); err != nil && !errors.As(err, &prometheus.AlreadyRegisteredError{}) {
			return err
		}
	}
	return nil
}
