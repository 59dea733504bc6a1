// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// listRounds is how often the bare lists are timed.
const listRounds = 3

// watched is what the two binaries that follow the hub watch.
var watched = map[string][]string{
	env.Propagation: {
		"/apis/argoproj.io/v1alpha1/applications", simulate.Works + pulled, simulate.ManagedClusters,
		"/apis/cluster.open-cluster-management.io/v1beta1/placementdecisions", simulate.Projects,
	},
	env.Aggregation: {
		simulate.Works + "?labelSelector=" + contract.ApplicationSetLabel + "%3Dtrue", simulate.ManagedClusters,
		"/apis/argoproj.io/v1alpha1/applicationsets",
	},
}

// restart starts the binaries over a fleet in which nothing changes.
func restart(ctx context.Context, b *bench) error {
	if err := b.halt(ctx, binaries...); err != nil {
		return err
	}
	for _, name := range []string{env.Propagation, env.Aggregation} {
		list, err := listAlone(ctx, b, watched[name])
		if err != nil {
			return err
		}
		mark := b.audit.Mark()
		ready, err := b.resume(ctx, name)
		if err != nil {
			return err
		}
		if err := b.awaitNoWrites(ctx, silence); err != nil {
			return err
		}
		writes, kinds, err := b.writesSince(mark, name)
		if err != nil {
			return err
		}
		b.row(figure.Row{
			What: "warm restart of " + name + ": write requests", Value: float64(writes), Comparison: figure.AtMost, Target: 0, Beside: "taking its Lease, and the Event about that, left out" + listed(kinds),
		})
		b.row(figure.Row{
			What: "warm restart of " + name + ": ready, against a bare LIST of what it watches", Value: float64(ready) / float64(list), Unit: "×", Comparison: figure.AtMost, Target: b.Size.Restart, Noise: 1.8,
			Beside: fmt.Sprintf("%s against %s, start of the process included", round(ready), round(list)),
		})
	}
	return b.awaitStatuses(ctx)
}

// listAlone times lists of everything at paths, at the same time as informers do,
// with the answers dropped.
func listAlone(ctx context.Context, b *bench, paths []string) (time.Duration, error) {
	var took []time.Duration
	for range listRounds {
		began := time.Now()
		err := hub.Parallel(ctx, len(paths), func(ctx context.Context, i int) error {
			_, err := b.hub.Discard(ctx, http.MethodGet, paths[i], "", nil)
			return err
		})
		if err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return median(took), nil
}
