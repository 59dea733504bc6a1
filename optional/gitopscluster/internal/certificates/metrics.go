// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/x509"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
)

var (
	expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gitopscluster_certificate_expiry_timestamp_seconds",
		Help: "When a certificate of argocd-agent on the hub expires, as seconds since 1970, by the hub's Argo CD namespace and kind: " +
			"ca (the one that signs), argocd-agent-principal-tls and argocd-agent-resource-proxy-tls (the Secrets of these names).",
	}, []string{"namespace", "kind"})
	deadline = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "gitopscluster_certificate_renewal_deadline_timestamp_seconds",
		Help: "Until when a certificate of argocd-agent has to be renewed, which is due long before, as seconds since 1970: a week before it expires, " +
			"or a tenth of its life where that is less. By the hub's Argo CD namespace and kind: ca, argocd-agent-principal-tls and argocd-agent-resource-proxy-tls " +
			"(on the hub), and agents (the first one of the clusters that report theirs).",
	}, []string{"namespace", "kind"})
)

// kindAgents is the kind of the client certificates of clusters.
const kindAgents = "agents"

func init() { metrics.Registry.MustRegister(expiry, deadline) }

// measure shows when a certificate expires, and until when it has to be renewed.
func (p *pass) measure(kind string, c *x509.Certificate) {
	expiry.WithLabelValues(p.wanted.Namespace, kind).Set(float64(c.NotAfter.Unix()))
	deadline.WithLabelValues(p.wanted.Namespace, kind).Set(float64(pki.RenewalDeadline(c.NotBefore, c.NotAfter).Unix()))
}

// MeasureAgents sets the metric of the time at which the first client certificate of an Argo CD's
// clusters has to be renewed. The zero time means that no certificate has to be renewed.
func MeasureAgents(namespace string, first time.Time) {
	if first.IsZero() {
		deadline.DeleteLabelValues(namespace, kindAgents)
		return
	}
	deadline.WithLabelValues(namespace, kindAgents).Set(float64(first.Unix()))
}

func forget(namespace string) {
	expiry.DeletePartialMatch(prometheus.Labels{"namespace": namespace})
	deadline.DeletePartialMatch(prometheus.Labels{"namespace": namespace})
}
