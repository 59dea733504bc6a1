// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enqueue adds requests to the queue of a controller which no watch of that
// controller makes.
package enqueue

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Queue is the queue of one controller. The zero value keeps requests until the controller starts.
type Queue struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	early sets.Set[reconcile.Request]
}

// Source is to be watched by the controller, and by no other.
func (q *Queue) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.queue = queue
		for r := range q.early {
			queue.Add(r)
		}
		q.early = nil
		return nil
	})
}

// Add enqueues requests. A request that is in the queue already is reconciled once.
func (q *Queue) Add(requests ...reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range requests {
		if q.queue != nil {
			q.queue.Add(r)
			continue
		}
		if q.early == nil {
			q.early = sets.New[reconcile.Request]()
		}
		q.early.Insert(r)
	}
}
