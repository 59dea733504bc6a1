// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Backoff returns when a controller tries a failed object again: after 5 ms, then
// after twice as long each time, up to 30 s. controller-runtime's own goes up to
// 1000 s, so that an outage of some minutes would be followed by as many minutes of
// old state. Each controller needs one of its own.
func Backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 30*time.Second)
}

// ConflictDelay is when an object is reconciled again after a write that met another
// writer's: the cache has that one by then.
const ConflictDelay = 50 * time.Millisecond
