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

const (
	// trickleWarm is how many changes of each report go before those that are measured: what
	// a quiet report has to spare is used up by then.
	trickleWarm = 3
)

// flow is what a part of a trickle cost.
type flow struct {
	changes, reports, mirrored int
	server                     time.Duration // processor time of the API server
}

func (f *flow) add(o flow) {
	f.changes += o.changes
	f.reports += o.reports
	f.mirrored += o.mirrored
	f.server += o.server
}

// perChange is the API server's processor time in milliseconds.
func (f *flow) perChange() float64 {
	return float64(f.server) / float64(time.Millisecond) / float64(f.changes)
}

// trickle measures what a steady trickle of changes costs the API server: with
// reports, without, and with them again, since a server is not equally fast all the time.
// Nobody reads reports meanwhile.
func trickle(ctx context.Context, b *bench) error {
	var with, without flow
	if err := measureFlow(ctx, b, b.Size.Trickle/2, &with); err != nil {
		return err
	}
	if err := b.halt(ctx, env.Aggregation); err != nil {
		return err
	}
	if err := measureFlow(ctx, b, b.Size.Trickle, &without); err != nil {
		return err
	}
	if _, err := b.resume(ctx, env.Aggregation); err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	if err := measureFlow(ctx, b, b.Size.Trickle-b.Size.Trickle/2, &with); err != nil {
		return err
	}
	sumUp(b, with, without)
	return b.awaitStatuses(ctx)
}

// measureFlow adds what n changes cost that are a part of a longer trickle.
func measureFlow(ctx context.Context, b *bench, n int, to *flow) error {
	_, reports := b.trickled()
	if err := changeSome(ctx, b, trickleWarm*reports); err != nil {
		return err
	}
	mark := b.audit.Mark()
	before, err := b.serverUsage()
	if err != nil {
		return err
	}
	if err := changeSome(ctx, b, n); err != nil {
		return err
	}
	after, err := b.serverUsage()
	if err != nil {
		return err
	}
	f := flow{changes: n, server: after.CPU - before.CPU}
	for what, count := range map[*int]func(*audit.Entry) bool{
		&f.reports:  by(env.Aggregation, "update", "multiclusterapplicationsetreports"),
		&f.mirrored: by(env.Propagation, "patch", "applications"),
	} {
		found, err := b.audit.Since(mark, count)
		if err != nil {
			return err
		}
		*what = len(found)
	}
	to.add(f)
	return b.awaitNoWrites(ctx, silence)
}

// changeSome sends n changes of any reports at [latencyRate].
func changeSome(ctx context.Context, b *bench, n int) error {
	apps, _ := b.trickled()
	changes := b.draw(apps, n)
	return paced(ctx, n, latencyRate, func(ctx context.Context, i int) error { return b.send(ctx, changes[i]) })
}

// sumUp makes the rows of a trickle.
func sumUp(b *bench, with, without flow) {
	apps, reports := b.trickled()
	writes := figure.Row{
		What:  "a trickle of 5 changes/s: writes per change",
		Value: float64(with.reports+with.mirrored) / float64(with.changes), Comparison: figure.AtMost, Target: 1.85,
		Beside: fmt.Sprintf("%d of hub Applications and %d of %d reports of %d rows, for %d changes", with.mirrored, with.reports, reports, len(apps)/reports, with.changes),
	}
	if len(apps)/reports < trickleRows {
		writes = untargeted(writes)
	}
	b.row(writes)
	cost := figure.Row{
		What:  "a trickle of 5 changes/s: CPU of the API server per change, against no reports at all",
		Value: with.perChange() / without.perChange(), Unit: "×", Comparison: figure.AtMost, Target: 3,
		Beside: fmt.Sprintf("%.1f ms against %.1f ms with aggregation stopped; nobody reads reports", with.perChange(), without.perChange()),
	}
	if len(apps)/reports > trickleRows {
		cost = untargeted(cost)
	}
	b.row(cost)
}
