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
	// Grace is how long a permission may be lost. Restored clocks count for half of it at most.
	Grace time.Duration
	// Namespace is where propagation runs. The annotation of that Namespace applies to the whole
	// hub, and the memory is stored in it. Without a Namespace nothing is stored.
	Namespace string
	// Prepare plans every Application once, so that the first evaluation has all removals. It
	// returns how long to wait for the remaining Applications, or 0 when all are planned.
	Prepare func(ctx context.Context, started time.Time) (wait time.Duration, err error)
	// OnCluster counts the ManifestWorks on a cluster.
	OnCluster func(cluster string) int
}
