// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
)

const (
	// baselineWorks is the highest number of ManifestWorks in each half of a baseline.
	baselineWorks = 2500
	// patchedFor is the shortest duration of a series of patches. The API server of a large fleet collects
	// garbage for ten seconds at a time. A series must include its share of that, as a burst does.
	patchedFor = 25 * time.Second
	// storms is the highest number of bursts, each with its own Applications. Garbage collection
	// makes the API server's rate uneven over about ten seconds.
	storms = 2
)

// grow starts everything and adds clusters up to the stage before the last. It measures costs at the first
// stage.
func grow(ctx context.Context, b *rig.Rig) {
	begin(ctx, b)
	first := 0
	for stage := range len(b.Size.Stages) - 1 {
		deliver(ctx, b, first, b.Size.At(stage))
		if first = b.Size.At(stage); stage == 0 {
			cost(ctx, b)
		}
	}
}

// fill adds all clusters at once and measures nothing.
func fill(ctx context.Context, b *rig.Rig) {
	begin(ctx, b)
	deliver(ctx, b, 0, b.Size.Clusters)
}

// begin starts all binaries, with ApplicationSets that have no Application yet.
func begin(ctx context.Context, b *rig.Rig) {
	must.OK(b.Load.Hub.Create(ctx, simulate.Projects, simulate.DefaultProject()))
	for s := range b.Size.Sets {
		must.OK(b.Load.AddSet(ctx, memory.SetName(s)))
	}
	b.Product.Launch(ctx, rig.Binaries...)
	b.Empty = b.Product.Usages(rig.Binaries...)
}

// deliver adds the clusters from first to before last and waits until all hub Applications have a status.
func deliver(ctx context.Context, b *rig.Rig, first, last int) {
	mark := b.Audit.Mark()
	must.OK(b.Load.AddApplications(ctx, first, last))
	b.Say("%d Applications are there", len(b.Load.Apps))
	// Reading the audit log costs the API server nothing. A list of all works does.
	b.Await(ctx, "propagation to create every ManifestWork", mark, (last-first)*b.Size.Sets, rig.Creations)
	must.OK(env.WaitFor(ctx, rig.Patience, "every ManifestWork", func(ctx context.Context) (bool, string) {
		err := b.Load.LearnWorks(ctx)
		return err == nil, fmt.Sprint(err)
	}))
	must.OK(b.Load.ReportAll(ctx, b.Load.Apps[first*b.Size.Sets:]))
	b.AwaitStatuses(ctx)
}

// coldDelivery measures how fast propagation delivers Applications that exist before it starts. It measures
// the server's own limit before and after.
func coldDelivery(ctx context.Context, b *rig.Rig) {
	prepareBaseline(ctx, b)
	b.Product.Halt(ctx, rig.Binaries...)
	before := len(b.Load.Apps)
	must.OK(b.Load.AddApplications(ctx, b.Size.At(len(b.Size.Stages)-2), b.Size.Clusters))
	fresh := len(b.Load.Apps) - before
	half := min(baselineWorks, fresh)
	createBaseline(ctx, b, half)
	mark, began := b.Audit.Mark(), time.Now()
	ready := b.Product.Resume(ctx, env.Propagation)
	first, last := rig.Span(b.Await(ctx, "propagation to create every ManifestWork", mark, fresh, rig.Creations))
	b.Product.Halt(ctx, env.Propagation) // so that its further work does not disturb the baseline
	createBaseline(ctx, b, half)
	delivered := rig.Throughput{Done: fresh, Took: last.Sub(first)}
	limit := b.Baseline.Created.PerSecond()
	b.Row(figure.Row{
		What: "cold delivery against the server's own limit", Value: delivered.PerSecond() / limit, Unit: "×", Comparison: figure.AtLeast, Target: 0.7,
		Beside: fmt.Sprintf("%.0f against %.0f ManifestWorks/s, %d of them; ready after %s, first one after %s",
			delivered.PerSecond(), limit, fresh, rig.Round(ready), rig.Round(first.Sub(began))),
	})
	b.Product.Resume(ctx, rig.Binaries...)
	must.OK(b.Load.LearnWorks(ctx))
}

// storm sends bursts: it gives ManifestWorks of the last stage their first status. Before and after,
// it measures the server's own limit.
func storm(ctx context.Context, b *rig.Rig) {
	// An Application becomes Unknown if its agent reports nothing for a while, so that must have happened
	// before.
	b.AwaitStatuses(ctx)
	silent := b.Load.Apps[b.Size.At(len(b.Size.Stages)-2)*b.Size.Sets:]
	half := b.Baseline.Works / 2
	patchBaseline(ctx, b, 0, half)
	var mirrored, sent rig.Throughput
	var patches, refused, reported, times int
	for ; times < storms; times++ {
		hit := silent[:min(len(silent), b.Size.Storm)]
		if times > 0 && len(hit) < b.Size.Storm {
			break
		}
		silent = silent[len(hit):]
		mark, began := b.Audit.Mark(), time.Now()
		must.OK(b.Load.ReportAll(ctx, hit))
		sent.Add(len(hit), time.Since(began))
		b.Await(ctx, "propagation to mirror every status", mark, len(hit), rig.Mirrors)
		b.AwaitNoWrites(ctx, rig.Silence)
		patched := b.Since(mark, rig.Mirrors)
		_, last := rig.Span(patched)
		mirrored.Add(len(hit), last.Sub(began))
		patches += len(patched)
		refused += len(b.Since(mark, func(e *audit.Entry) bool {
			return e.Account == env.Account(env.Propagation) && rig.Write(e) && e.Code >= 300
		}))
		reported += len(b.Since(mark, rig.Reports))
		patchBaseline(ctx, b, half*((times+1)%2), half) // the halves take turns
	}
	limit := b.Baseline.Patched.PerSecond()
	b.Row(figure.Row{
		What: "storm of first statuses against the server's own limit", Value: mirrored.PerSecond() / limit, Unit: "×", Comparison: figure.AtLeast, Target: 0.5,
		Beside: fmt.Sprintf("%.0f changes/s against %.0f patches/s; %d changes, %d at once, sent in %s, mirrored in %s",
			mirrored.PerSecond(), limit, mirrored.Done, mirrored.Done/times, rig.Round(sent.Took), rig.Round(mirrored.Took)),
	})
	b.Row(rig.AtMost(1, "", "writes per change in the storm", float64(patches)/float64(mirrored.Done),
		"%d refused or in conflict; %d writes of %d reports meanwhile", refused, reported, b.Size.Sets))
	clearBaseline(ctx, b)
	must.OK(b.Load.ReportAll(ctx, silent))
	b.AwaitStatuses(ctx)
}

func baselineName(i int) string { return fmt.Sprintf("base-%05d", i) }

// prepareBaseline uses a delivered ManifestWork as the template of the baseline.
func prepareBaseline(ctx context.Context, b *rig.Rig) {
	a := b.Load.Apps[0]
	var work map[string]any
	must.OK(b.Load.Hub.Get(ctx, a.Path(), &work))
	delete(work, "status")
	if m, ok := work["metadata"].(map[string]any); ok {
		// The new keys keep the length and lose the meaning. Otherwise propagation would restore the label of
		// a ManifestWork with its annotations.
		kept := map[string]any{}
		for _, words := range []string{"annotations", "labels"} {
			disguised := map[string]any{}
			if all, ok := m[words].(map[string]any); ok {
				for key, value := range all {
					disguised["x"+key[1:]] = value
				}
			}
			kept[words] = disguised
		}
		work["metadata"] = kept
	}
	b.Baseline.Template = work
	for _, name := range rig.BaselineNamespaces() {
		must.OK(b.Load.Hub.Create(ctx, simulate.Namespaces, simulate.NamespaceObject(name)))
	}
}

// createBaseline creates n more ManifestWorks and measures the time.
func createBaseline(ctx context.Context, b *rig.Rig, n int) {
	first := b.Baseline.Works
	bodies := make([][]byte, n)
	for i := range bodies {
		if m, ok := b.Baseline.Template["metadata"].(map[string]any); ok {
			m["namespace"], m["name"] = rig.BaselineNamespace(first+i), baselineName(first+i)
		}
		bodies[i] = must.Get(json.Marshal(b.Baseline.Template))
	}
	began := time.Now()
	must.OK(hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.Load.Hub.Create(ctx, simulate.WorksIn(rig.BaselineNamespace(first+i)), bodies[i])
	}))
	b.Baseline.Created.Add(n, time.Since(began))
	b.Baseline.Works += n
}

// patchBaseline patches the status of n ManifestWorks from first on, repeatedly for patchedFor, and measures
// the time.
func patchBaseline(ctx context.Context, b *rig.Rig, first, n int) {
	for end := time.Now().Add(patchedFor); n > 0 && time.Now().Before(end); {
		bodies := make([][]byte, n)
		for i := range bodies {
			bodies[i] = simulate.WorkStatus("set00", "cluster0000", 1, simulate.Healthy(b.Load.NextRevision()))
		}
		began := time.Now()
		must.OK(hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
			return b.Load.Hub.Merge(ctx, simulate.WorksIn(rig.BaselineNamespace(first+i))+"/"+baselineName(first+i)+"/status", bodies[i])
		}))
		b.Baseline.Patched.Add(n, time.Since(began))
	}
}

// clearBaseline deletes the ManifestWorks of the baseline and waits until none exists.
func clearBaseline(ctx context.Context, b *rig.Rig) {
	for _, namespace := range rig.BaselineNamespaces() {
		must.Get(b.Load.Hub.Discard(ctx, http.MethodDelete, simulate.WorksIn(namespace), nil))
		must.OK(env.Wait(ctx, "the baseline's works to be gone from "+namespace, func(ctx context.Context) (bool, string) {
			var list struct {
				Items []struct{} `json:"items"`
			}
			err := b.Load.Hub.Metadata(ctx, simulate.WorksIn(namespace)+"?limit=1", &list)
			return err == nil && len(list.Items) == 0, fmt.Sprint(err)
		}))
	}
}
