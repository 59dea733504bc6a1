// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// coldDelivery measures how fast propagation delivers Applications that are all there when
// it starts, between two halves of the same server's own limit.
func coldDelivery(ctx context.Context, b *bench) error {
	if err := prepareBaseline(ctx, b); err != nil {
		return err
	}
	if err := b.halt(ctx, env.Propagation, env.Aggregation, env.ResourceSync); err != nil {
		return err
	}
	before := len(b.apps)
	if err := b.addApplications(ctx, b.Size.at(len(b.Size.Stages)-2), b.Size.at(len(b.Size.Stages)-1)); err != nil {
		return err
	}
	fresh := len(b.apps) - before
	half := min(baselineWorks, fresh)
	if err := createBaseline(ctx, b, half); err != nil {
		return err
	}
	d, err := deliverAll(ctx, b, fresh)
	if err != nil {
		return err
	}
	if err := createBaseline(ctx, b, half); err != nil {
		return err
	}
	delivered := throughput{done: fresh, took: d.last.Sub(d.first)}
	limit := b.baseline.created.perSecond()
	b.row(figure.Row{
		What: "cold delivery against the server's own limit", Value: delivered.perSecond() / limit, Unit: "×", Comparison: figure.AtLeast, Target: 0.7,
		Beside: fmt.Sprintf("%.0f against %.0f ManifestWorks/s, %d of them; ready after %s, first one after %s",
			delivered.perSecond(), limit, fresh, round(d.ready), round(d.first.Sub(d.began))),
	})
	if _, err := b.resume(ctx, binaries...); err != nil {
		return err
	}
	return b.learnWorks(ctx)
}

// delivery is how propagation delivered all Applications after its start.
type delivery struct {
	began, first, last time.Time     // the start, and the first and last ManifestWork
	ready              time.Duration // until it was ready
}

// deliverAll starts propagation and stops it once it has created as many ManifestWorks:
// what it does after that is not to disturb the baseline.
func deliverAll(ctx context.Context, b *bench, works int) (d delivery, err error) {
	mark := b.audit.Mark()
	d.began = time.Now()
	if d.ready, err = b.resume(ctx, env.Propagation); err != nil {
		return d, err
	}
	created, err := b.await(ctx, "propagation to create every ManifestWork", mark, works, by(env.Propagation, "create", "manifestworks"))
	if err != nil {
		return d, err
	}
	d.first, d.last = span(created)
	return d, b.halt(ctx, env.Propagation)
}
