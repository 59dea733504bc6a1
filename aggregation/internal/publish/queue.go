// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"sync"
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

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// NewQueue returns a queue that keeps the limits.
func NewQueue(limits pace.Limits) *Queue { return &Queue{pacer: pace.New(limits)} }

// Changed says that what is known about an ApplicationSet is different now.
func (q *Queue) Changed(key types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return
	}
	if wait, look := q.pacer.Changed(key, time.Now()); look {
		q.queue.AddAfter(reconcile.Request{NamespacedName: key}, wait)
	}
}

// enqueue has a report reconciled at once, whatever is known about it.
func (q *Queue) enqueue(key types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue != nil {
		q.queue.Add(reconcile.Request{NamespacedName: key})
	}
}

func (q *Queue) open(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = queue
}
