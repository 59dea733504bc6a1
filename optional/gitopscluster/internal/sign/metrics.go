// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
)

var expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "gitopscluster_agent_certificate_expiry_timestamp_seconds",
	Help: "When the newest client certificate of a cluster's argocd-agent expires, as seconds since 1970, by cluster.",
}, []string{"cluster"})

func init() { metrics.Registry.MustRegister(expiry) }

// measured is a handler of add-ons that also shows when their certificates expire.
type measured struct{ handler.EventHandler }

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (m measured) Create(ctx context.Context, e event.CreateEvent, q queue) {
	show(e.Object)
	m.EventHandler.Create(ctx, e, q)
}

func (m measured) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	show(e.ObjectNew)
	m.EventHandler.Update(ctx, e, q)
}

func (m measured) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	expiry.DeleteLabelValues(e.Object.GetNamespace())
	m.EventHandler.Delete(ctx, e, q)
}

func show(addOn client.Object) {
	if records := pki.ParseIssued(addOn.GetAnnotations()[agent.IssuedAnnotation]); len(records) > 0 {
		expiry.WithLabelValues(addOn.GetNamespace()).Set(float64(records[len(records)-1].Expires.Unix()))
	}
}
