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
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const (
	// latencyRate is the rate of changes per second while latencies are measured.
	latencyRate = 5
	// trickleRows is the number of rows of a report for which the targets of a steady load hold. A smaller
	// report costs little and waits for a shorter time, so it may have more writes. A larger report waits
	// longer and still costs more, so its rows may appear later.
	trickleRows = 500
	// loneEvery is the time between lone changes of a report, and after other changes of it. So the report
	// has writes to spare.
	loneEvery = 10 * time.Second
	// wideSet is the ApplicationSet with one Application on each of very many clusters.
	wideSet = "wide"
)

// These name the watches by which the stopwatch observes a change. places has their paths.
const (
	onServer = "API server alone"
	onHub    = "hub Application"
	inReport = "report row"
)

var places = map[string]string{onServer: simulate.Works, onHub: simulate.Applications, inReport: simulate.Reports}

// latency measures a steady load of changes, from the work agent's patch until a watch delivers the
// ManifestWork, the hub Application and the report.
func latency(ctx context.Context, b *rig.Rig) {
	apps, reports := b.Load.Trickled()
	times := timeChanges(ctx, b, b.Load.Draw(apps, b.Size.Changes), latencyRate, onServer, onHub, inReport)
	own, mirrored, reported := times(onServer), times(onHub), times(inReport)
	row := rig.AtMost(10, "×", "ManifestWork status patch to hub Application status, p99 against the server's own patch-to-watch",
		mirrored.Percentile(99)/own.Percentile(99), "p50/p99 %.1f/%.1f ms against %.1f/%.1f ms",
		mirrored.Percentile(50), mirrored.Percentile(99), own.Percentile(50), own.Percentile(99))
	row.Noise = 1.5
	b.Row(row)
	for _, within := range []struct{ percent, seconds float64 }{{50, 1}, {99, 3}} {
		percent, seconds := within.percent, within.seconds
		b.Row(rig.Only(len(apps)/reports <= trickleRows, rig.AtMost(seconds, "s",
			fmt.Sprintf("a trickle of %d changes/s: ManifestWork status patch to report row, p%.0f", latencyRate, percent), reported.Percentile(percent)/1000,
			"%d reports of %d rows; the server's own patch-to-watch was %.0f ms", reports, len(apps)/reports, own.Percentile(percent))))
	}
	b.AwaitStatuses(ctx)
}

// lone measures changes of reports that were idle before.
func lone(ctx context.Context, b *rig.Rig) {
	reported := timeLone(ctx, b, b.Load.InTurn(b.Size.Lone), float64(b.Size.Sets)/loneEvery.Seconds())
	b.Row(rig.AtMost(1.2, "s", "ManifestWork status patch to report row, p99", reported.Percentile(99)/1000,
		"p50 %.0f ms; %d lone changes, of each report one in %s", reported.Percentile(50), b.Size.Lone, loneEvery))
	b.AwaitStatuses(ctx)
}

// timeLone waits until the reports have been idle for long enough. Then it measures changes until they are in
// the reports.
func timeLone(ctx context.Context, b *rig.Rig, changes []rig.Change, perSecond float64) figure.Distribution {
	b.AwaitNoWrites(ctx, 2*loneEvery)
	return timeChanges(ctx, b, changes, perSecond, inReport)(inReport)
}

// timeChanges sends changes at a rate, and waits until every watch in where has observed each change.
// It returns the latencies by watch.
func timeChanges(ctx context.Context, b *rig.Rig, changes []rig.Change, perSecond float64, where ...string) func(place string) figure.Distribution {
	s := rig.NewStopwatch(where...)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	for _, place := range where {
		must.Get(b.Load.Hub.Watch(watching, places[place], func(e hub.Event, arrived time.Time) { s.See(place, e.Object, arrived) }))
	}
	must.OK(rig.Paced(ctx, len(changes), perSecond, func(ctx context.Context, i int) error {
		s.Start(changes[i].Revision)
		return b.Load.Send(ctx, changes[i])
	}))
	must.OK(env.WaitFor(ctx, rig.Patience, "every change to be seen everywhere", func(context.Context) (bool, string) {
		return s.Left() == 0, fmt.Sprintf("%d sightings are missing", s.Left())
	}))
	return func(place string) figure.Distribution { return figure.NewDistribution(s.Times(place)) }
}

// burst changes many rows of one report at once and counts the writes of the report.
func burst(ctx context.Context, b *rig.Rig) {
	set := b.Load.Apps[0].Set
	apps := slices.DeleteFunc(slices.Clone(b.Load.Apps), func(a *rig.Application) bool { return a.Set != set })
	n := min(len(apps), b.Size.Burst)
	writes, took := writesOfBurst(ctx, b, set, b.Load.Draw(apps, n))
	b.Row(rig.AtMost(5, "", fmt.Sprintf("report writes for a burst of %d changes", n), float64(writes),
		"one report of %d rows; all written %s after the first change", len(apps), rig.Round(took)))
	b.AwaitStatuses(ctx)
}

// writesOfBurst sends changes at once. It returns how often the report of their ApplicationSet was written,
// and the time until the last write.
func writesOfBurst(ctx context.Context, b *rig.Rig, set string, changes []rig.Change) (writes int, took time.Duration) {
	b.AwaitNoWrites(ctx, rig.Silence)
	mark, began := b.Audit.Mark(), time.Now()
	must.OK(hub.Parallel(ctx, len(changes), func(ctx context.Context, i int) error { return b.Load.Send(ctx, changes[i]) }))
	b.AwaitNoWrites(ctx, rig.Silence)
	for _, e := range b.Since(mark, rig.Reports) {
		if e.Name == set {
			writes++
			took = max(took, e.Done.Sub(began))
		}
	}
	return writes, took
}

// wide makes aggregation write one report of very many clusters. Its Applications are not on the
// hub, so propagation is stopped first, because it would delete the works.
func wide(ctx context.Context, b *rig.Rig) {
	b.Product.Halt(ctx, env.Propagation)
	apps := addWideSet(ctx, b)
	b.AwaitNoWrites(ctx, rig.Silence)
	path := simulate.Reports + "/" + wideSet
	must.OK(env.WaitFor(ctx, rig.Patience, "the wide report to count every cluster as healthy", func(ctx context.Context) (bool, string) {
		var report struct {
			Statuses struct {
				Summary struct{ Healthy string } `json:"summary"`
			} `json:"statuses"`
		}
		err := b.Load.Hub.Get(ctx, path, &report)
		return report.Statuses.Summary.Healthy == fmt.Sprint(len(apps)), fmt.Sprint(report, err)
	}))
	n := min(len(apps), b.Size.Burst)
	writes, took := writesOfBurst(ctx, b, wideSet, b.Load.Draw(apps, n))
	b.Row(rig.AtMost(5, "", fmt.Sprintf("report of %d clusters: writes for a burst of %d changes", len(apps), n), float64(writes),
		"%d bytes; all written %s after the first change; aggregation resident %.0f MiB",
		must.Get(b.Load.Hub.Discard(ctx, "GET", path, nil)), rig.Round(took), rig.Mebibytes(b.Product.Usages(env.Aggregation)[env.Aggregation].Resident)))
	// Aggregation first leaves healthy rows out of a full report, so these rows are not healthy.
	b.Load.Degraded = true
	gathered := timeChanges(ctx, b, b.Load.Draw(apps, min(len(apps), b.Size.Changes)), latencyRate, inReport)(inReport)
	b.Row(rig.AtMost(3, "s", fmt.Sprintf("report of %d clusters: ManifestWork status patch to row in a trickle of %d changes/s, p99", len(apps), latencyRate),
		gathered.Percentile(99)/1000, "p50 %.0f ms", gathered.Percentile(50)))
	reported := timeLone(ctx, b, b.Load.Draw(apps, b.Size.WideLone), 1/loneEvery.Seconds())
	b.Row(rig.AtMost(1.2, "s", fmt.Sprintf("report of %d clusters: ManifestWork status patch to row, p99", len(apps)),
		reported.Percentile(99)/1000, "p50 %.0f ms; %d lone changes, one in %s", reported.Percentile(50), b.Size.WideLone, loneEvery))
}

// addWideSet creates the ApplicationSet. For each of its Applications it creates a cluster, and a
// ManifestWork with a status of the agent.
func addWideSet(ctx context.Context, b *rig.Rig) []*rig.Application {
	must.OK(b.Load.AddSet(ctx, wideSet))
	clusters := make([]string, b.Size.WideReport)
	apps := make([]*rig.Application, len(clusters))
	for i := range clusters {
		clusters[i] = fmt.Sprintf("wide%05d", i)
		apps[i] = &rig.Application{Set: wideSet, Cluster: clusters[i], Generation: 1}
	}
	must.OK(b.Load.AddClusters(ctx, clusters))
	revision := b.Load.NextRevision()
	must.OK(hub.Parallel(ctx, len(apps), func(ctx context.Context, i int) error {
		name, body := simulate.ReportOnlyWork(wideSet, clusters[i])
		apps[i].Work = name
		if err := b.Load.Hub.Create(ctx, simulate.WorksIn(clusters[i]), body); err != nil {
			return err
		}
		return b.Load.Report(ctx, apps[i], revision)
	}))
	return apps
}
