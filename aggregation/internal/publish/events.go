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
	"k8s.io/client-go/tools/events"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/pace"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// recorder reports the changes of reports in metrics, Events and the log.
type recorder struct {
	events events.EventRecorder
	pacer  *pace.Pacer
	limit  int
}

// recordMetrics updates the metrics after a reconcile. operation is empty if nothing had to be
// written.
func (r *recorder) recordMetrics(key types.NamespacedName, operation string, changes pace.Batch, envelope int, c *merge.Content) {
	size := envelope + c.Bytes()
	bytesGauge.WithLabelValues(key.Namespace, key.Name).Set(float64(size))
	leftOutGauge.WithLabelValues(key.Namespace, key.Name).Set(float64(c.RowsLeftOut))
	if operation == "" {
		return
	}
	writesTotal.WithLabelValues(operation).Inc()
	if changes.Changes > 0 {
		publishSeconds.Observe(time.Since(changes.First).Seconds())
	}
	r.pacer.Written(key, changes, time.Now())
}

// recordLeftOut logs when a report begins, and ceases, to leave rows out, and records
// an Event for the former.
func (r *recorder) recordLeftOut(ctx context.Context, report *metav1.PartialObjectMetadata, before, now int) {
	if before > 0 == (now > 0) {
		return
	}
	log := logr.FromContextOrDiscard(ctx)
	if now == 0 {
		log.Info("report has all rows again")
		return
	}
	log.Info("report is too large for all rows; raise --report-size-limit or split the ApplicationSet", "rowsLeftOut", now, "limitBytes", r.limit)
	r.events.Eventf(report, nil, corev1.EventTypeWarning, "RowsLeftOut", "Publish",
		"aggregation left out %d rows, healthy ones first, to keep the report under %d bytes (--report-size-limit); the summary counts all of them", now, r.limit)
}

// recordForeign logs, and records an Event, that aggregation does not manage a report.
func (r *recorder) recordForeign(ctx context.Context, report *metav1.PartialObjectMetadata) {
	logr.FromContextOrDiscard(ctx).Info("report has the name of an ApplicationSet but lacks aggregation's label; aggregation does not change it", "label", contract.ReportLabel)
	r.events.Eventf(report, nil, corev1.EventTypeWarning, "ForeignReport", "Publish",
		"aggregation does not change this report, since label %s is missing; delete the report or add the label, and aggregation writes it", contract.ReportLabel)
}
