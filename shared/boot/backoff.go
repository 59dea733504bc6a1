// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// How long a failed reconcile waits: twice as long each time, from the first to the
// most.
const (
	backoffFirst = 5 * time.Millisecond
	backoffMost  = 30 * time.Second
)

// Backoff returns the rate limiter for a controller's options. controller-runtime's
// own goes up to 1000 seconds, so that after an outage everything that had failed
// would wait for as long again as the outage took.
func Backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](backoffFirst, backoffMost)
}
