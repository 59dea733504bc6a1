// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"time"
)

// Options are the settings of a budget.
type Options struct {
	Settings
	// Grace is how long a permission may be missing; restored clocks count for half of it.
	Grace time.Duration
	// Namespace is where propagation runs: the annotation of that Namespace decides for the
	// whole hub, and the ledger is stored there. Without it nothing is stored.
	Namespace string
	// Prepare has every Application planned once, so that the whole damage is known before
	// anything is evaluated. It returns how long to wait for the rest, 0 when that is done.
	Prepare func(ctx context.Context, started time.Time) (wait time.Duration, err error)
	// OnCluster counts the ManifestWorks on a cluster.
	OnCluster func(cluster string) int
}
