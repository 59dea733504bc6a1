// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/pace"
)

// Queue holds the reports that changed, each until it is due. It drops changes until this
// process leads: a leader begins by reconciling every report.
type Queue struct {
	pacer *pace.Pacer
	// queue is the controller's, once this process leads.
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

// NewQueue returns a queue that keeps the limits.
func NewQueue(limits pace.Limits) *Queue { return &Queue{pacer: pace.New(limits)} }

// Changed enqueues the report of an ApplicationSet with changed rows or resources for the time when
// it is due.
func (q *Queue) Changed(key types.NamespacedName) {
	queue := q.queue.Load()
	if queue == nil {
		return
	}
	if wait, check := q.pacer.Changed(key, time.Now()); check {
		(*queue).AddAfter(reconcile.Request{NamespacedName: key}, wait)
	}
}

func (q *Queue) open(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	q.queue.Store(&queue)
}
