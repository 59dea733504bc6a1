// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const (
	// latencyRate is how many changes a second latencies are measured at: a trickle.
	latencyRate = 5
	// trickleRows is how many rows a report has for which the targets of a trickle are made. A
	// smaller one costs little and is gathered less, so its writes may be more; a larger one is
	// gathered for longer and costs more all the same, so its rows may come later.
	trickleRows = 500
	// Lone changes of a report come loneEvery after each other, and after what else happened to
	// it: then it has writes to spare.
	loneEvery = 10 * time.Second
	// wideSet is the ApplicationSet with one Application on each of very many clusters.
	wideSet = "wide"
)

// Places where a change is seen, and their paths.
const (
	onServer = "API server alone"
	onHub    = "hub Application"
	inReport = "report row"
)

var places = map[string]string{onServer: simulate.Works, onHub: simulate.Applications, inReport: simulate.Reports}

// latency times a trickle of changes from the work agent's patch to the watchers of the
// work itself, of the hub Application and of the report.
func latency(ctx context.Context, b *bench) {
	apps, reports := b.load.trickled()
	times := timeChanges(ctx, b, b.load.draw(apps, b.Size.Changes), latencyRate, onServer, onHub, inReport)
	own, mirrored, reported := times(onServer), times(onHub), times(inReport)
	row := atMost(10, "×", "ManifestWork status patch to hub Application status, p99 against the server's own patch-to-watch",
		mirrored.Percentile(99)/own.Percentile(99), "p50/p99 %.1f/%.1f ms against %.1f/%.1f ms",
		mirrored.Percentile(50), mirrored.Percentile(99), own.Percentile(50), own.Percentile(99))
	row.Noise = 1.5
	b.row(row)
	for _, within := range []struct{ percent, seconds float64 }{{50, 1}, {99, 3}} {
		percent, seconds := within.percent, within.seconds
		b.row(only(len(apps)/reports <= trickleRows, atMost(seconds, "s",
			fmt.Sprintf("a trickle of %d changes/s: ManifestWork status patch to report row, p%.0f", latencyRate, percent), reported.Percentile(percent)/1000,
			"%d reports of %d rows; the server's own patch-to-watch was %.0f ms", reports, len(apps)/reports, own.Percentile(percent))))
	}
	b.awaitStatuses(ctx)
}

// lone times changes of reports that were quiet before.
func lone(ctx context.Context, b *bench) {
	reported := timeLone(ctx, b, b.load.inTurn(b.Size.Lone), float64(b.Size.Sets)/loneEvery.Seconds())
	b.row(atMost(1.2, "s", "ManifestWork status patch to report row, p99", reported.Percentile(99)/1000,
		"p50 %.0f ms; %d lone changes, of each report one in %s", reported.Percentile(50), b.Size.Lone, loneEvery))
	b.awaitStatuses(ctx)
}

// timeLone times changes until they are in the reports, once these have been quiet for long enough.
func timeLone(ctx context.Context, b *bench, changes []change, perSecond float64) figure.Distribution {
	b.awaitNoWrites(ctx, 2*loneEvery)
	return timeChanges(ctx, b, changes, perSecond, inReport)(inReport)
}

// timeChanges sends so many changes a second, waits until each was seen in every place, and
// returns how long it took there.
func timeChanges(ctx context.Context, b *bench, changes []change, perSecond float64, where ...string) func(place string) figure.Distribution {
	s := newStopwatch(where...)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	for _, place := range where {
		must.Get(b.load.hub.Watch(watching, places[place], func(e hub.Event, arrived time.Time) { s.see(place, e.Object, arrived) }))
	}
	must.OK(paced(ctx, len(changes), perSecond, func(ctx context.Context, i int) error {
		s.start(changes[i].revision)
		return b.load.send(ctx, changes[i])
	}))
	must.OK(env.WaitFor(ctx, patience, "every change to be seen everywhere", func(context.Context) (bool, string) {
		return s.left() == 0, fmt.Sprintf("%d sightings are missing", s.left())
	}))
	return func(place string) figure.Distribution { return figure.NewDistribution(s.times(place)) }
}

// burst changes many rows of one report at once and counts the report's writes.
func burst(ctx context.Context, b *bench) {
	set := b.load.apps[0].set
	apps := slices.DeleteFunc(slices.Clone(b.load.apps), func(a *application) bool { return a.set != set })
	n := min(len(apps), b.Size.Burst)
	writes, took := writesOfBurst(ctx, b, set, b.load.draw(apps, n))
	b.row(atMost(5, "", fmt.Sprintf("report writes for a burst of %d changes", n), float64(writes),
		"one report of %d rows; all written %s after the first change", len(apps), round(took)))
	b.awaitStatuses(ctx)
}

// writesOfBurst sends changes at once and returns how often the report of their
// ApplicationSet was written, and when for the last time.
func writesOfBurst(ctx context.Context, b *bench, set string, changes []change) (writes int, took time.Duration) {
	b.awaitNoWrites(ctx, silence)
	mark, began := b.audit.Mark(), time.Now()
	must.OK(hub.Parallel(ctx, len(changes), func(ctx context.Context, i int) error { return b.load.send(ctx, changes[i]) }))
	b.awaitNoWrites(ctx, silence)
	for _, e := range b.since(mark, reports) {
		if e.Name == set {
			writes++
			took = max(took, e.Done.Sub(began))
		}
	}
	return writes, took
}

// wide lets aggregation write one report of very many clusters. Its Applications
// are not on the hub, so propagation is stopped first: it would withdraw the works.
func wide(ctx context.Context, b *bench) {
	b.product.halt(ctx, env.Propagation)
	apps := addWideSet(ctx, b)
	b.awaitNoWrites(ctx, silence)
	path := simulate.Reports + "/" + wideSet
	must.OK(env.WaitFor(ctx, patience, "the wide report to count every cluster as healthy", func(ctx context.Context) (bool, string) {
		var report struct {
			Statuses struct {
				Summary struct{ Healthy string } `json:"summary"`
			} `json:"statuses"`
		}
		err := b.load.hub.Get(ctx, path, &report)
		return report.Statuses.Summary.Healthy == fmt.Sprint(len(apps)), fmt.Sprint(report, err)
	}))
	n := min(len(apps), b.Size.Burst)
	writes, took := writesOfBurst(ctx, b, wideSet, b.load.draw(apps, n))
	b.row(atMost(5, "", fmt.Sprintf("report of %d clusters: writes for a burst of %d changes", len(apps), n), float64(writes),
		"%d bytes; all written %s after the first change; aggregation resident %.0f MiB",
		must.Get(b.load.hub.Discard(ctx, "GET", path, nil)), round(took), mebibytes(b.product.usages(env.Aggregation)[env.Aggregation].Resident)))
	// Healthy rows are the first to be left out of a report that is full, so these are not.
	b.load.degraded = true
	gathered := timeChanges(ctx, b, b.load.draw(apps, min(len(apps), b.Size.Changes)), latencyRate, inReport)(inReport)
	b.row(atMost(3, "s", fmt.Sprintf("report of %d clusters: ManifestWork status patch to row in a trickle of %d changes/s, p99", len(apps), latencyRate),
		gathered.Percentile(99)/1000, "p50 %.0f ms", gathered.Percentile(50)))
	reported := timeLone(ctx, b, b.load.draw(apps, b.Size.WideLone), 1/loneEvery.Seconds())
	b.row(atMost(1.2, "s", fmt.Sprintf("report of %d clusters: ManifestWork status patch to row, p99", len(apps)),
		reported.Percentile(99)/1000, "p50 %.0f ms; %d lone changes, one in %s", reported.Percentile(50), b.Size.WideLone, loneEvery))
}

// addWideSet creates the ApplicationSet with a cluster and a ManifestWork, whose agent
// has reported, for each of its Applications.
func addWideSet(ctx context.Context, b *bench) []*application {
	must.OK(b.load.addSet(ctx, wideSet))
	clusters := make([]string, b.Size.WideReport)
	apps := make([]*application, len(clusters))
	for i := range clusters {
		clusters[i] = fmt.Sprintf("wide%05d", i)
		apps[i] = &application{set: wideSet, cluster: clusters[i], generation: 1}
	}
	must.OK(b.load.addClusters(ctx, clusters))
	revision := b.load.nextRevision()
	must.OK(hub.Parallel(ctx, len(apps), func(ctx context.Context, i int) error {
		name, body := simulate.ReportOnlyWork(wideSet, clusters[i])
		apps[i].work = name
		if err := b.load.hub.Create(ctx, simulate.WorksIn(clusters[i]), body); err != nil {
			return err
		}
		return b.load.report(ctx, apps[i], revision)
	}))
	return apps
}
