// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/pace"
	"open-cluster-management.io/multicluster-integrations/shared/takeover"
)

// Queue holds the reports that changed, each until it is due. A leader begins by
// reconciling every report, those first that changed shortly before it led.
type Queue struct {
	pacer  *pace.Pacer
	lately takeover.Changes

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
		q.lately.Note(key)
		return
	}
	if wait, look := q.pacer.Changed(key, time.Now()); look {
		q.queue.AddAfter(reconcile.Request{NamespacedName: key}, wait)
	}
}

// forgetInitial waits until the index knows all that was there at start, which until
// then looks like changes.
func (q *Queue) forgetInitial(waitForSync func(context.Context) error) manager.Runnable {
	return standbyRunnable(func(ctx context.Context) error {
		if err := waitForSync(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		q.lately.Forget()
		return nil
	})
}

// enqueue has a report reconciled at once, whatever is known about it; one that was there
// at start, after those that changed.
func (q *Queue) enqueue(key types.NamespacedName, atStart bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue == nil {
		return
	}
	request := reconcile.Request{NamespacedName: key}
	if atStart {
		takeover.AddLast(q.queue, request)
		return
	}
	q.queue.Add(request)
}

func (q *Queue) open(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = queue
	for _, key := range q.lately.Take() {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
}

// standbyRunnable runs whether or not this process leads.
type standbyRunnable func(context.Context) error

// Start implements manager.Runnable.
func (s standbyRunnable) Start(ctx context.Context) error { return s(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s standbyRunnable) NeedLeaderElection() bool { return false }
