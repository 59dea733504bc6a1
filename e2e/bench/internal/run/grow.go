// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
)

// grow brings the fleet, with everything running, up to the stage before the last,
// and measures costs at the first.
func grow(ctx context.Context, b *bench) error {
	if err := begin(ctx, b); err != nil {
		return err
	}
	for stage := range len(b.Size.Stages) - 1 {
		first := 0
		if stage > 0 {
			first = b.Size.at(stage - 1)
		}
		if err := deliver(ctx, b, first, b.Size.at(stage)); err != nil {
			return err
		}
		if stage > 0 {
			continue
		}
		if err := cost(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// fill brings the fleet to its full size at once and measures nothing.
func fill(ctx context.Context, b *bench) error {
	if err := begin(ctx, b); err != nil {
		return err
	}
	return deliver(ctx, b, 0, b.Size.Clusters)
}

// begin starts everything, with ApplicationSets that have no Application yet.
func begin(ctx context.Context, b *bench) error {
	if err := b.hub.Create(ctx, simulate.Projects, simulate.DefaultProject()); err != nil {
		return err
	}
	for s := range b.Size.Sets {
		if err := b.addSet(ctx, memory.SetName(s)); err != nil {
			return err
		}
	}
	for _, name := range []string{env.Propagation, env.Aggregation, env.ResourceSync} {
		if err := b.launch(ctx, name); err != nil {
			return err
		}
	}
	var err error
	b.empty, err = b.usages(binaries...)
	return err
}

// deliver adds the clusters from first to last and waits until all hub Applications have a status.
func deliver(ctx context.Context, b *bench, first, last int) error {
	mark := b.audit.Mark()
	if err := b.addApplications(ctx, first, last); err != nil {
		return err
	}
	b.say("%d Applications are there", len(b.apps))
	// The audit log costs the API server nothing to ask; a list of all works does.
	_, err := b.await(ctx, "propagation to create every ManifestWork", mark, (last-first)*b.Size.Sets, by(env.Propagation, "create", "manifestworks"))
	if err != nil {
		return err
	}
	err = env.WaitFor(ctx, patience, "every ManifestWork", func(ctx context.Context) (bool, string) {
		err := b.learnWorks(ctx)
		return err == nil, fmt.Sprint(err)
	})
	if err != nil {
		return err
	}
	if err := b.reportAll(ctx, b.apps[first*b.Size.Sets:]); err != nil {
		return err
	}
	return b.awaitStatuses(ctx)
}
