// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	// latencyRate is how many changes a second latencies are measured at: a trickle.
	latencyRate = 5
	// trickleRows is how many rows a report has for which the targets of a trickle are made. A
	// smaller one costs little and is gathered less, so its writes may be more; a larger one is
	// gathered for longer and costs more all the same, so its rows may come later.
	trickleRows = 500
)

// Lone changes of a report come loneEvery after each other, and after what else happened to
// it: then it has writes to spare.
const loneEvery = 10 * time.Second

// Places where a change is seen.
const (
	onServer = "API server alone"
	onHub    = "hub Application"
	inReport = "report row"
)

// latency times a trickle of changes from the work agent's patch to the watchers of the
// work itself, of the hub Application and of the report.
func latency(ctx context.Context, b *bench) error {
	places := map[string]string{onServer: simulate.Works, onHub: simulate.Applications, inReport: simulate.Reports}
	apps, reports := b.trickled()
	watch, err := timeChanges(ctx, b, places, b.draw(apps, b.Size.Changes), latencyRate)
	if err != nil {
		return err
	}
	own, mirrored, reported := figure.NewDistribution(watch.times(onServer)), figure.NewDistribution(watch.times(onHub)), figure.NewDistribution(watch.times(inReport))
	b.row(figure.Row{
		What:  "ManifestWork status patch to hub Application status, p99 against the server's own patch-to-watch",
		Value: mirrored.Percentile(99) / own.Percentile(99), Unit: "×", Comparison: figure.AtMost, Target: 10, Noise: 1.5,
		Beside: fmt.Sprintf("p50/p99 %.1f/%.1f ms against %.1f/%.1f ms", mirrored.Percentile(50), mirrored.Percentile(99), own.Percentile(50), own.Percentile(99)),
	})
	for _, within := range []struct{ percent, seconds float64 }{{50, 1}, {99, 3}} {
		row := figure.Row{
			What:  fmt.Sprintf("a trickle of %d changes/s: ManifestWork status patch to report row, p%.0f", latencyRate, within.percent),
			Value: reported.Percentile(within.percent) / 1000, Unit: "s", Comparison: figure.AtMost, Target: within.seconds,
			Beside: fmt.Sprintf("%d reports of %d rows; the server's own patch-to-watch was %.0f ms", reports, len(apps)/reports, own.Percentile(within.percent)),
		}
		if len(apps)/reports > trickleRows {
			row = untargeted(row)
		}
		b.row(row)
	}
	return b.awaitStatuses(ctx)
}

// lone times changes of reports that were quiet before.
func lone(ctx context.Context, b *bench) error {
	watch, err := timeLone(ctx, b, b.inTurn(b.Size.Lone), float64(b.Size.Sets)/loneEvery.Seconds())
	if err != nil {
		return err
	}
	reported := figure.NewDistribution(watch.times(inReport))
	b.row(figure.Row{
		What: "ManifestWork status patch to report row, p99", Value: reported.Percentile(99) / 1000, Unit: "s", Comparison: figure.AtMost, Target: 1.2,
		Beside: fmt.Sprintf("p50 %.0f ms; %d lone changes, of each report one in %s", reported.Percentile(50), b.Size.Lone, loneEvery),
	})
	return b.awaitStatuses(ctx)
}

// timeLone times changes until they are in the reports, once these have been quiet for long enough.
func timeLone(ctx context.Context, b *bench, changes []change, perSecond float64) (*stopwatch, error) {
	if err := b.awaitNoWrites(ctx, 2*loneEvery); err != nil {
		return nil, err
	}
	return timeChanges(ctx, b, map[string]string{inReport: simulate.Reports}, changes, perSecond)
}

// timeChanges sends so many changes a second and waits until each was seen in every place,
// which is given with its path.
func timeChanges(ctx context.Context, b *bench, places map[string]string, changes []change, perSecond float64) (*stopwatch, error) {
	s := newStopwatch(slices.Collect(maps.Keys(places))...)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	for place, path := range places {
		if _, err := b.hub.Watch(watching, path, func(e hub.Event, arrived time.Time) { s.see(place, e.Object, arrived) }); err != nil {
			return nil, err
		}
	}
	err := paced(ctx, len(changes), perSecond, func(ctx context.Context, i int) error {
		s.start(changes[i].revision)
		return b.send(ctx, changes[i])
	})
	if err != nil {
		return nil, err
	}
	return s, env.WaitFor(ctx, patience, "every change to be seen everywhere", func(context.Context) (bool, string) {
		return s.left() == 0, fmt.Sprintf("%d sightings are missing", s.left())
	})
}

// burst changes many rows of one report at once and counts the report's writes.
func burst(ctx context.Context, b *bench) error {
	var apps []*application
	for _, a := range b.apps {
		if a.set == b.apps[0].set {
			apps = append(apps, a)
		}
	}
	writes, took, err := writesOfBurst(ctx, b, b.apps[0].set, b.draw(apps, min(len(apps), b.Size.Burst)))
	if err != nil {
		return err
	}
	b.row(figure.Row{
		What:  fmt.Sprintf("report writes for a burst of %d changes", min(len(apps), b.Size.Burst)),
		Value: float64(writes), Comparison: figure.AtMost, Target: 5,
		Beside: fmt.Sprintf("one report of %d rows; all written %s after the first change", len(apps), round(took)),
	})
	return b.awaitStatuses(ctx)
}

// writesOfBurst sends changes at once and returns how often the report of their
// ApplicationSet was written, and when for the last time.
func writesOfBurst(ctx context.Context, b *bench, set string, changes []change) (writes int, took time.Duration, err error) {
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return 0, 0, err
	}
	mark := b.audit.Mark()
	began := time.Now()
	err = hub.Parallel(ctx, len(changes), func(ctx context.Context, i int) error {
		return b.send(ctx, changes[i])
	})
	if err != nil {
		return 0, 0, err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return 0, 0, err
	}
	all, err := b.audit.Since(mark, by(env.Aggregation, "update", "multiclusterapplicationsetreports"))
	if err != nil {
		return 0, 0, err
	}
	for i := range all {
		if all[i].Name == set {
			writes++
			took = max(took, all[i].Done.Sub(began))
		}
	}
	return writes, took, nil
}
