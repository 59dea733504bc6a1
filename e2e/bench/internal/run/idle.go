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
	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// Metrics of resourcesync that tell how long its polls took.
const (
	pollSum   = "resourcesync_poll_seconds_sum"
	pollCount = "resourcesync_poll_seconds_count"
)

// pollInterval is how often resourcesync polls unless it is told otherwise.
const pollInterval = 10 * time.Second

// searched is how many clusters and Applications search knows.
func searched(b *bench) (clusters, applications int) {
	clusters = min(b.Size.SearchClusters, b.Size.Clusters)
	return clusters, clusters * b.Size.Sets
}

// resources is how many resources each Application has in search.
const resources = 10

// idleFleet fills search, waits until its data is in the reports, and watches the fleet
// while nothing changes.
func idleFleet(ctx context.Context, b *bench) error {
	clusters, applications := searched(b)
	if err := (memory.Fleet{Clusters: clusters, Sets: b.Size.Sets, Resources: resources}).Run(ctx, b.search.Table()); err != nil {
		return err
	}
	if err := polls(ctx, b, 2); err != nil {
		return err
	}
	if err := b.awaitStatuses(ctx); err != nil {
		return err
	}
	memoryAtRest(b)
	used, others, err := watchIdle(ctx, b, binaries...)
	if err != nil {
		return err
	}
	b.row(figure.Row{
		What: "idle: requests other than Lease renewals and watches", Value: float64(len(others)), Comparison: figure.AtMost, Target: 0,
		Beside: fmt.Sprintf("all three together in %s%s", b.Size.Idle, examples(others)),
	})
	for _, name := range []string{env.Propagation, env.Aggregation} {
		b.row(figure.Row{What: "idle: CPU of " + name, Value: used[name], Unit: "%", Comparison: figure.AtMost, Target: 0.5, Beside: "of a core"})
	}
	b.row(figure.Row{
		What: "idle: CPU of resourcesync, polling search", Value: used[env.ResourceSync], Unit: "%", Comparison: figure.AtMost, Target: 0.5,
		Beside: fmt.Sprintf("of a core; every 10 s %d Applications with %d resources, unchanged", applications, applications*resources),
	})
	return nil
}

// idleWithoutSearch watches resourcesync where there is no search service.
func idleWithoutSearch(ctx context.Context, b *bench) error {
	if err := b.search.SetFaults(search.Faults{Refuse: true}); err != nil { //nolint:contextcheck // the stand-in has its own
		return err
	}
	if _, err := b.resume(ctx, env.ResourceSync); err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	used, _, err := watchIdle(ctx, b, env.ResourceSync)
	if err != nil {
		return err
	}
	b.row(figure.Row{
		What: "idle: CPU of resourcesync, no search service", Value: used[env.ResourceSync], Unit: "%", Comparison: figure.AtMost, Target: 0.5, Beside: "of a core",
	})
	return nil
}

// watchIdle watches for [Size.Idle] and returns the percentage of a core that each
// binary used, and the requests that an idle one should not make.
func watchIdle(ctx context.Context, b *bench, names ...string) (used map[string]float64, others []audit.Entry, err error) {
	mark := b.audit.Mark()
	before, err := b.usages(names...)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	if !clock.Sleep(ctx, b.Size.Idle) {
		return nil, nil, ctx.Err()
	}
	took := time.Since(began)
	after, err := b.usages(names...)
	if err != nil {
		return nil, nil, err
	}
	used = map[string]float64{}
	for _, name := range names {
		used[name] = 100 * float64(after[name].CPU-before[name].CPU) / float64(took)
	}
	others, err = b.audit.Since(mark, func(e *audit.Entry) bool { return e.Verb != "watch" && e.Resource != "leases" })
	return used, others, err
}

// polled returns how long all polls of resourcesync took in seconds, and their number.
func polled(ctx context.Context, b *bench) (sum, count float64, err error) {
	values, err := b.metrics(ctx, env.ResourceSync, pollSum, pollCount)
	if err != nil {
		return 0, 0, err
	}
	return values[0], values[1], nil
}

// polls waits for n more polls.
func polls(ctx context.Context, b *bench, n int) error {
	_, before, err := polled(ctx, b)
	if err != nil {
		return err
	}
	return env.WaitFor(ctx, patience, "resourcesync to poll", func(ctx context.Context) (bool, string) {
		_, now, err := polled(ctx, b)
		if err != nil {
			return false, err.Error()
		}
		return now >= before+float64(n), fmt.Sprintf("%.0f of %d", now-before, n)
	})
}

func examples(entries []audit.Entry) string {
	if len(entries) == 0 {
		return ""
	}
	e := &entries[0]
	return fmt.Sprintf("; the first: %s %s %s", e.Account, e.Verb, e.Resource)
}

// memoryAtRest makes the rows of memory at full size.
func memoryAtRest(b *bench) {
	for _, limit := range []struct {
		name string
		most float64
	}{{env.Propagation, 160}, {env.Aggregation, 100}, {env.ResourceSync, 100}} {
		u, err := b.usage(limit.name)
		if err != nil {
			b.say("no memory of %s: %v", limit.name, err)
			continue
		}
		row := figure.Row{
			What: "memory of " + limit.name, Value: mebibytes(u.Resident), Unit: "MiB", Comparison: figure.AtMost, Target: limit.most,
			Beside: fmt.Sprintf("resident at %d Applications; the most ever was %.0f MiB", len(b.apps), mebibytes(u.Peak)),
		}
		if b.Size.PerApplication[limit.name] > 0 {
			row = untargeted(row)
		}
		b.row(row)
	}
}
