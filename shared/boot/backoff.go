// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Backoff returns the rate limiter of a controller's retries: the first after 5 ms, each next one
// after twice the time, up to 30 s. The default of controller-runtime goes up to 1000 s, so that
// old state would remain for minutes after an outage. Each controller needs a separate one.
func Backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 30*time.Second)
}

// ConflictDelay is the delay after a write that conflicted with another writer's. By then the cache
// has the other write.
const ConflictDelay = 50 * time.Millisecond
