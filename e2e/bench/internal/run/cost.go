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

// costRate is how many changes a second costs are measured at.
const costRate = 100

// cost measures processor time per status change and memory at the present size.
func cost(ctx context.Context, b *bench) error {
	followers := []string{env.Propagation, env.Aggregation}
	before, err := b.usages(followers...)
	if err != nil {
		return err
	}
	n := b.Size.CostChanges
	changes := b.draw(b.apps, n)
	err = paced(ctx, n, costRate, func(ctx context.Context, i int) error {
		return b.send(ctx, changes[i])
	})
	if err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	after, err := b.usages(followers...)
	if err != nil {
		return err
	}
	c := figure.Cost{Applications: len(b.apps), CPU: map[string]float64{}, Memory: map[string]float64{}}
	for _, name := range followers {
		c.CPU[name] = float64(after[name].CPU-before[name].CPU) / float64(time.Millisecond) / float64(n)
		c.Memory[name] = mebibytes(after[name].Resident)
	}
	b.results.Costs = append(b.results.Costs, c)
	b.say("  %d Applications: CPU ms per change %v, memory MiB %v", c.Applications, c.CPU, c.Memory)
	return b.awaitStatuses(ctx)
}

// relateMemory makes the rows of what each Application takes, where there are enough of them to tell.
func relateMemory(b *bench) {
	costs := b.results.Costs
	if len(costs) < 2 {
		return
	}
	small, large := costs[0], costs[len(costs)-1]
	for _, name := range []string{env.Propagation, env.Aggregation} {
		most := b.Size.PerApplication[name]
		if most == 0 {
			continue
		}
		without := mebibytes(b.empty[name].Resident)
		b.row(figure.Row{
			What:  fmt.Sprintf("memory of %s for each Application, beyond the program", name),
			Value: kilobytesEach(without, large.Memory[name], large.Applications), Unit: "KB", Comparison: figure.AtMost, Target: most,
			Beside: fmt.Sprintf("%.1f MiB resident at %d Applications, %.1f MiB when it was ready without any; from %d Applications on each took %.2f KB",
				large.Memory[name], large.Applications, without, small.Applications,
				kilobytesEach(small.Memory[name], large.Memory[name], large.Applications-small.Applications)),
		})
	}
}

// kilobytesEach is how many KB each of n took when memory grew from less to more MiB.
func kilobytesEach(less, more float64, n int) float64 {
	return (more - less) * (1 << 20) / 1000 / float64(n)
}

// relateCosts makes the rows that compare sizes.
func relateCosts(b *bench) {
	costs := b.results.Costs
	if len(costs) < 2 {
		return
	}
	small, large := costs[0], costs[len(costs)-1]
	for _, name := range []string{env.Propagation, env.Aggregation} {
		if small.CPU[name] == 0 {
			continue
		}
		b.row(figure.Row{
			What:  fmt.Sprintf("CPU per status change, %s, %d against %d Applications", name, large.Applications, small.Applications),
			Value: large.CPU[name] / small.CPU[name], Unit: "×", Comparison: figure.AtMost, Target: 1.3,
			Beside: fmt.Sprintf("%.2f ms against %.2f ms", large.CPU[name], small.CPU[name]),
		})
	}
}
