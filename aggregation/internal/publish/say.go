// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// count updates the metrics after a look at a report; operation is empty when
// nothing had to be written.
func (r *Reconciler) count(key types.NamespacedName, operation string, changes batch, envelope int, c *merge.Content) {
	size := envelope + c.Bytes()
	bytesGauge.WithLabelValues(key.Namespace, key.Name).Set(float64(size))
	leftOutGauge.WithLabelValues(key.Namespace, key.Name).Set(float64(c.RowsLeftOut))
	r.pacer.sized(key, float64(size)/float64(r.limit))
	if operation == "" {
		return
	}
	writesTotal.WithLabelValues(operation).Inc()
	if changes.changes > 0 {
		publishSeconds.Observe(time.Since(changes.first).Seconds())
	}
	r.pacer.written(key, changes)
}

// sayLeftOut tells when a report begins, and ceases, to leave rows out.
func (r *Reconciler) sayLeftOut(ctx context.Context, report *metav1.PartialObjectMetadata, before, now int) {
	if before > 0 == (now > 0) {
		return
	}
	log := logr.FromContextOrDiscard(ctx)
	if now == 0 {
		log.Info("report holds every row again")
		return
	}
	log.Info("report does not hold every row", "rowsLeftOut", now, "limitBytes", r.limit)
	r.events.Eventf(report, nil, corev1.EventTypeWarning, "RowsLeftOut", "Publish",
		"%d rows, the healthiest first, do not fit into %d bytes; the summary counts all of them", now, r.limit)
}

// sayForeign tells once that a report is not ours.
func (r *Reconciler) sayForeign(ctx context.Context, key types.NamespacedName, report *metav1.PartialObjectMetadata) {
	if !r.tracker.noteForeign(key, report.UID) {
		return
	}
	logr.FromContextOrDiscard(ctx).Info("a report without our label has the ApplicationSet's name; it is left alone", "label", contract.ReportLabel)
	r.events.Eventf(report, nil, corev1.EventTypeWarning, "NotOurs", "Publish",
		"label %s is missing, so this report is left alone; delete it, or add the label, to have it written", contract.ReportLabel)
}
