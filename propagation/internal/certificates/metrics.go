// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/x509"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "propagation_certificate_expiry_timestamp_seconds",
	Help: "When a certificate of argocd-agent on the hub expires, as seconds since 1970, by the hub's Argo CD namespace and kind: " +
		"ca (the one that signs), argocd-agent-principal-tls and argocd-agent-resource-proxy-tls (the Secrets of these names).",
}, []string{"namespace", "kind"})

func init() { metrics.Registry.MustRegister(expiry) }

func expiryOf(namespace, kind string, counts bool, certificate *x509.Certificate) {
	if counts {
		expiry.WithLabelValues(namespace, kind).Set(float64(certificate.NotAfter.Unix()))
	}
}

func forget(namespace string) { expiry.DeletePartialMatch(prometheus.Labels{"namespace": namespace}) }
