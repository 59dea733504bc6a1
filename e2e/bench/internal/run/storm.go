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

// storms is how many storms there are at most, each of its own Applications. Garbage
// collection makes the API server's rate uneven over some ten seconds.
const storms = 2

// stormed is what one storm did, or several together.
type stormed struct {
	storms            int
	mirrored, sent    throughput
	patches           int // successful ones of hub Applications
	refused, reported int // propagation's failed writes, and writes of reports
}

// storm lets ManifestWorks of the last stage get their first status, very many at
// once, between stretches of the same server's own limit.
func storm(ctx context.Context, b *bench) error {
	// Agents that stay silent for a while have their Applications called Unknown.
	if err := b.awaitStatuses(ctx); err != nil {
		return err
	}
	silent := b.apps[b.Size.at(len(b.Size.Stages)-2)*b.Size.Sets:]
	half := b.baseline.works / 2
	if err := patchBaseline(ctx, b, 0, half); err != nil {
		return err
	}
	var all stormed
	for i := range storms {
		hit := silent[:min(len(silent), b.Size.Storm)]
		if i > 0 && len(hit) < b.Size.Storm {
			break
		}
		silent = silent[len(hit):]
		if err := stormOnce(ctx, b, hit, &all); err != nil {
			return err
		}
		other := half * ((i + 1) % 2) // the halves take turns
		if err := patchBaseline(ctx, b, other, half); err != nil {
			return err
		}
	}
	limit := b.baseline.patched.perSecond()
	b.row(figure.Row{
		What: "storm of first statuses against the server's own limit", Value: all.mirrored.perSecond() / limit, Unit: "×", Comparison: figure.AtLeast, Target: 0.5,
		Beside: fmt.Sprintf("%.0f changes/s against %.0f patches/s; %d changes, %d at once, sent in %s, mirrored in %s",
			all.mirrored.perSecond(), limit, all.mirrored.done, all.mirrored.done/all.storms, round(all.sent.took), round(all.mirrored.took)),
	})
	b.row(figure.Row{
		What: "writes per change in the storm", Value: float64(all.patches) / float64(all.mirrored.done), Comparison: figure.AtMost, Target: 1,
		Beside: fmt.Sprintf("%d refused or in conflict; %d writes of %d reports meanwhile", all.refused, all.reported, b.Size.Sets),
	})
	if err := clearBaseline(ctx, b); err != nil {
		return err
	}
	if err := b.reportAll(ctx, silent); err != nil {
		return err
	}
	return b.awaitStatuses(ctx)
}

// stormOnce reports the first status of Applications, all at once, and adds what came
// of it.
func stormOnce(ctx context.Context, b *bench, hit []*application, all *stormed) error {
	mark := b.audit.Mark()
	began := time.Now()
	if err := b.reportAll(ctx, hit); err != nil {
		return err
	}
	all.sent.add(len(hit), time.Since(began))
	match := by(env.Propagation, "patch", "applications")
	if _, err := b.await(ctx, "propagation to mirror every status", mark, len(hit), match); err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	patches, err := b.audit.Since(mark, match)
	if err != nil {
		return err
	}
	refused, err := b.audit.Since(mark, func(e *audit.Entry) bool { return e.Account == env.Propagation && write(e) && e.Code >= 300 })
	if err != nil {
		return err
	}
	reports, err := b.audit.Since(mark, by(env.Aggregation, "update", "multiclusterapplicationsetreports"))
	if err != nil {
		return err
	}
	_, last := span(patches)
	all.storms++
	all.mirrored.add(len(hit), last.Sub(began))
	all.patches += len(patches)
	all.refused += len(refused)
	all.reported += len(reports)
	return nil
}
