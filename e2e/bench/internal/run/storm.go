// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// storm lets every ManifestWork of the last stage get its first status at once.
func (b *bench) storm(ctx context.Context) error {
	// Agents that stay silent for a while have their Applications called Unknown.
	if err := b.settle(ctx); err != nil {
		return err
	}
	fresh := b.apps[b.Size.at(len(b.Size.Stages)-2)*b.Size.Sets:]
	hit := fresh[:min(len(fresh), b.Size.Storm)]
	half := b.yard.works / 2
	if err := b.patchYard(ctx, 0, half); err != nil {
		return err
	}
	mark := b.audit.Mark()
	waitPropagation := b.profile(ctx, env.Propagation, "storm", 5)
	waitServer := b.profile(ctx, apiServer, "storm", 5)
	waitAggregation := b.profile(ctx, env.Aggregation, "storm", 5)
	began := time.Now()
	if err := b.reportAll(ctx, hit); err != nil {
		return err
	}
	sent := time.Since(began)
	match := by(env.Propagation, "patch", "applications")
	if _, err := b.await(ctx, "propagation to mirror every status", mark, len(hit), match); err != nil {
		return err
	}
	if err := b.quiet(ctx, silence); err != nil {
		return err
	}
	waitPropagation()
	waitAggregation()
	waitServer()
	patches, err := b.audit.Since(mark, match)
	if err != nil {
		return err
	}
	conflicts, err := b.audit.Since(mark, func(e *audit.Entry) bool { return e.Account == env.Propagation && write(e) && e.Code >= 300 })
	if err != nil {
		return err
	}
	reports, err := b.audit.Since(mark, by(env.Aggregation, "update", "multiclusterapplicationsetreports"))
	if err != nil {
		return err
	}
	_, last := span(patches)
	mirrored := pace{done: len(hit), took: last.Sub(began)}
	if err := b.patchYard(ctx, half, b.yard.works-half); err != nil {
		return err
	}
	limit := b.yard.patched.perSecond()
	b.row(figure.Row{
		What: "storm of first statuses against the server's own limit", Value: mirrored.perSecond() / limit, Unit: "×", Comparison: figure.AtLeast, Target: 0.5,
		Beside: fmt.Sprintf("%.0f changes/s against %.0f patches/s; %d changes sent in %s, mirrored in %s",
			mirrored.perSecond(), limit, len(hit), round(sent), round(mirrored.took)),
	})
	both := 1 / (1/limit + 1/b.yard.mirrored.perSecond())
	b.row(figure.Row{
		What: "the same if nobody but the unthrottled client made both patches of each change", Value: both / limit, Unit: "×",
		Beside: fmt.Sprintf("%.0f patches/s of Applications and %.0f patches/s of ManifestWorks are %.0f changes/s: what a storm could reach at most",
			b.yard.mirrored.perSecond(), limit, both),
	})
	b.row(figure.Row{
		What: "writes per change in the storm", Value: float64(len(patches)) / float64(len(hit)), Comparison: figure.AtMost, Target: 1,
		Beside: fmt.Sprintf("%d refused or in conflict; %d writes of %d reports meanwhile", len(conflicts), len(reports), b.Size.Sets),
	})
	if err := b.clearYard(ctx); err != nil {
		return err
	}
	if err := b.reportAll(ctx, fresh[len(hit):]); err != nil {
		return err
	}
	return b.settle(ctx)
}
