// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// AddLast adds what is to be looked at after everything that has changed: it gets the
// priority of what a controller finds at its start. A queue without priorities has it
// in turn.
func AddLast(queue workqueue.TypedRateLimitingInterface[reconcile.Request], request reconcile.Request) {
	if ranked, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		ranked.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}, request)
		return
	}
	queue.Add(request)
}
