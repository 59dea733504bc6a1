// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var buildInfoGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "multicluster_integrations_build_info",
	Help: "Always 1; the labels name the component, its version and source revision, and the Go release that built it.",
}, []string{"component", "version", "revision", "goversion"})

func init() { metrics.Registry.MustRegister(buildInfoGauge) }

func buildInfo(p Program) {
	buildInfoGauge.WithLabelValues(p.Name, p.Version, Revision, runtime.Version()).Set(1)
}
