// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	// costRate is the rate of changes per second while costs are measured.
	costRate = 100
	// trickleWarm is the number of changes of each report before the measured ones. They use up the burst
	// allowance of an idle report.
	trickleWarm = 3
)

// cost measures processor time per status change and memory at the current size.
func cost(ctx context.Context, b *rig.Rig) {
	before, n := b.Product.Usages(rig.Followers...), b.Size.CostChanges
	b.Load.SendPaced(ctx, b.Load.Draw(b.Load.Apps, n), costRate)
	b.AwaitNoWrites(ctx, rig.Silence)
	after := b.Product.Usages(rig.Followers...)
	c := figure.Cost{Applications: len(b.Load.Apps), CPU: map[string]float64{}, Memory: map[string]float64{}}
	for _, name := range rig.Followers {
		c.CPU[name] = float64(after[name].CPU-before[name].CPU) / float64(time.Millisecond) / float64(n)
		c.Memory[name] = rig.Mebibytes(after[name].Resident)
	}
	b.Results.Costs = append(b.Results.Costs, c)
	b.Say("  %d Applications: CPU ms per change %v, memory MiB %v", c.Applications, c.CPU, c.Memory)
	b.AwaitStatuses(ctx)
}

// relateMemory adds the rows about the memory for each Application, if the fleet has enough
// Applications.
func relateMemory(b *rig.Rig) {
	costs := b.Results.Costs
	if len(costs) < 2 {
		return
	}
	small, large := costs[0], costs[len(costs)-1]
	each := func(less, more float64, n int) float64 { return (more - less) * (1 << 20) / 1000 / float64(n) } // KB, of MiB
	for _, name := range rig.Followers {
		most := b.Size.PerApplication[name]
		if most == 0 {
			continue
		}
		without := rig.Mebibytes(b.Empty[name].Resident)
		b.Row(rig.AtMost(most, "KB", fmt.Sprintf("memory of %s for each Application, beyond the program", name), each(without, large.Memory[name], large.Applications),
			"%.1f MiB resident at %d Applications, %.1f MiB when it was ready without any; from %d Applications on each took %.2f KB",
			large.Memory[name], large.Applications, without, small.Applications, each(small.Memory[name], large.Memory[name], large.Applications-small.Applications)))
	}
}

// relateCosts adds the rows that compare sizes.
func relateCosts(b *rig.Rig) {
	costs := b.Results.Costs
	if len(costs) < 2 {
		return
	}
	small, large := costs[0], costs[len(costs)-1]
	for _, name := range rig.Followers {
		if small.CPU[name] > 0 {
			b.Row(rig.AtMost(1.3, "×", fmt.Sprintf("CPU per status change, %s, %d against %d Applications", name, large.Applications, small.Applications),
				large.CPU[name]/small.CPU[name], "%.2f ms against %.2f ms", large.CPU[name], small.CPU[name]))
		}
	}
}

// flow is the cost of a part of a steady load.
type flow struct {
	changes, reports, mirrored int
	server                     time.Duration // processor time of the API server
}

// perChange returns the API server's processor time for each change, in milliseconds.
func (f *flow) perChange() float64 {
	return float64(f.server) / float64(time.Millisecond) / float64(f.changes)
}

// trickle measures the cost of a steady load for the API server. It measures with reports, without them, and
// with them again, because the speed of a server varies. Nothing reads the reports during this.
func trickle(ctx context.Context, b *rig.Rig) {
	var with, without flow
	measureFlow(ctx, b, b.Size.Trickle/2, &with)
	b.Product.Halt(ctx, env.Aggregation)
	measureFlow(ctx, b, b.Size.Trickle, &without)
	b.Product.Resume(ctx, env.Aggregation)
	b.AwaitNoWrites(ctx, rig.Silence)
	measureFlow(ctx, b, b.Size.Trickle-b.Size.Trickle/2, &with)
	apps, reports := b.Load.Trickled()
	rows := len(apps) / reports
	b.Row(rig.Only(rows >= trickleRows, rig.AtMost(1.85, "", "a trickle of 5 changes/s: writes per change", float64(with.reports+with.mirrored)/float64(with.changes),
		"%d of hub Applications and %d of %d reports of %d rows, for %d changes", with.mirrored, with.reports, reports, rows, with.changes)))
	b.Row(rig.Only(rows <= trickleRows, rig.AtMost(3, "×", "a trickle of 5 changes/s: CPU of the API server per change, against no reports at all", with.perChange()/without.perChange(),
		"%.1f ms against %.1f ms with aggregation stopped; nobody reads reports", with.perChange(), without.perChange())))
	b.AwaitStatuses(ctx)
}

// measureFlow sends n changes of a steady load and adds their cost to f.
func measureFlow(ctx context.Context, b *rig.Rig, n int, f *flow) {
	apps, count := b.Load.Trickled()
	b.Load.SendPaced(ctx, b.Load.Draw(apps, trickleWarm*count), latencyRate)
	mark, before := b.Audit.Mark(), b.Product.ServerUsage()
	b.Load.SendPaced(ctx, b.Load.Draw(apps, n), latencyRate)
	f.changes += n
	f.server += b.Product.ServerUsage().CPU - before.CPU
	f.reports += len(b.Since(mark, rig.Reports))
	f.mirrored += len(b.Since(mark, rig.Mirrors))
	b.AwaitNoWrites(ctx, rig.Silence)
}
