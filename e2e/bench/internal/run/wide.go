// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// wideSet is the ApplicationSet with one Application on each of very many clusters.
const wideSet = "wide"

// wide lets aggregation write one report of very many clusters. Its Applications
// are not on the hub, so propagation is stopped first: it would withdraw the works.
func wide(ctx context.Context, b *bench) error {
	if err := b.halt(ctx, env.Propagation); err != nil {
		return err
	}
	apps, err := addWideSet(ctx, b)
	if err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	path := simulate.Reports + "/" + wideSet
	if err := awaitWideReport(ctx, b, path, len(apps)); err != nil {
		return err
	}
	if err := wideBurst(ctx, b, path, apps); err != nil {
		return err
	}
	return wideLatency(ctx, b, apps)
}

// addWideSet creates the ApplicationSet with a cluster and a ManifestWork, whose agent
// has reported, for each of its Applications.
func addWideSet(ctx context.Context, b *bench) ([]*application, error) {
	if err := b.addSet(ctx, wideSet); err != nil {
		return nil, err
	}
	clusters := make([]string, b.Size.WideReport)
	apps := make([]*application, len(clusters))
	for i := range clusters {
		clusters[i] = fmt.Sprintf("wide%05d", i)
		apps[i] = &application{set: wideSet, cluster: clusters[i], generation: 1}
	}
	if err := b.addClusters(ctx, clusters); err != nil {
		return nil, err
	}
	revision := b.nextRevision()
	err := hub.Parallel(ctx, len(apps), func(ctx context.Context, i int) error {
		name, body := simulate.ReportOnlyWork(wideSet, clusters[i])
		apps[i].work = name
		if err := b.hub.Create(ctx, simulate.WorksIn(clusters[i]), body); err != nil {
			return err
		}
		return b.report(ctx, apps[i], revision)
	})
	return apps, err
}

// awaitWideReport waits until the report counts every cluster as healthy.
func awaitWideReport(ctx context.Context, b *bench, path string, clusters int) error {
	return env.WaitFor(ctx, patience, "the wide report to count every cluster", func(ctx context.Context) (bool, string) {
		var report struct {
			Statuses struct {
				Summary struct{ Healthy string } `json:"summary"`
			} `json:"statuses"`
		}
		if err := b.hub.Get(ctx, path, &report); err != nil {
			return false, err.Error()
		}
		return report.Statuses.Summary.Healthy == fmt.Sprint(clusters), "healthy: " + report.Statuses.Summary.Healthy
	})
}

// wideBurst counts the writes that carry a burst of changes.
func wideBurst(ctx context.Context, b *bench, path string, apps []*application) error {
	writes, took, err := writesOfBurst(ctx, b, wideSet, b.draw(apps, min(len(apps), b.Size.Burst)))
	if err != nil {
		return err
	}
	size, err := b.hub.Discard(ctx, "GET", path, "", nil)
	if err != nil {
		return err
	}
	u, err := b.usage(env.Aggregation)
	if err != nil {
		return err
	}
	b.row(figure.Row{
		What:  fmt.Sprintf("report of %d clusters: writes for a burst of %d changes", len(apps), min(len(apps), b.Size.Burst)),
		Value: float64(writes), Comparison: figure.AtMost, Target: 5,
		Beside: fmt.Sprintf("%d bytes; all written %s after the first change; aggregation resident %.0f MiB", size, round(took), mebibytes(u.Resident)),
	})
	return nil
}

// wideLatency times a trickle of changes until they are in the report, and lone ones.
func wideLatency(ctx context.Context, b *bench, apps []*application) error {
	// Healthy rows are the first to be left out of a report that is full, so these are not.
	b.degraded = true
	watch, err := timeChanges(ctx, b, map[string]string{inReport: simulate.Reports}, b.draw(apps, min(len(apps), b.Size.Changes)), latencyRate)
	if err != nil {
		return err
	}
	gathered := figure.NewDistribution(watch.times(inReport))
	b.row(figure.Row{
		What:  fmt.Sprintf("report of %d clusters: ManifestWork status patch to row in a trickle of %d changes/s, p99", len(apps), latencyRate),
		Value: gathered.Percentile(99) / 1000, Unit: "s", Comparison: figure.AtMost, Target: 3,
		Beside: fmt.Sprintf("p50 %.0f ms", gathered.Percentile(50)),
	})
	if watch, err = timeLone(ctx, b, b.draw(apps, b.Size.WideLone), 1/loneEvery.Seconds()); err != nil {
		return err
	}
	reported := figure.NewDistribution(watch.times(inReport))
	b.row(figure.Row{
		What:  fmt.Sprintf("report of %d clusters: ManifestWork status patch to row, p99", len(apps)),
		Value: reported.Percentile(99) / 1000, Unit: "s", Comparison: figure.AtMost, Target: 1.2,
		Beside: fmt.Sprintf("p50 %.0f ms; %d lone changes, one in %s", reported.Percentile(50), b.Size.WideLone, loneEvery),
	})
	return nil
}
