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
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
)

const (
	// baselineWorks is the most works that each half of a baseline writes.
	baselineWorks = 2500
	// patchedFor is how long a stretch of patches is at least. The API server collects
	// garbage for ten seconds at a time when it holds a large fleet, and a stretch is
	// to have its share of that, as a storm has.
	patchedFor = 25 * time.Second
	// storms is how many storms there are at most, each of its own Applications. Garbage
	// collection makes the API server's rate uneven over some ten seconds.
	storms = 2
)

// grow brings the fleet, with everything running, up to the stage before the last,
// and measures costs at the first.
func grow(ctx context.Context, b *bench) {
	begin(ctx, b)
	first := 0
	for stage := range len(b.Size.Stages) - 1 {
		deliver(ctx, b, first, b.Size.at(stage))
		if first = b.Size.at(stage); stage == 0 {
			cost(ctx, b)
		}
	}
}

// fill brings the fleet to its full size at once and measures nothing.
func fill(ctx context.Context, b *bench) {
	begin(ctx, b)
	deliver(ctx, b, 0, b.Size.Clusters)
}

// begin starts everything, with ApplicationSets that have no Application yet.
func begin(ctx context.Context, b *bench) {
	must.OK(b.load.hub.Create(ctx, simulate.Projects, simulate.DefaultProject()))
	for s := range b.Size.Sets {
		must.OK(b.load.addSet(ctx, memory.SetName(s)))
	}
	b.product.launch(ctx, binaries...)
	b.empty = b.product.usages(binaries...)
}

// deliver adds the clusters from first to last and waits until all hub Applications have a status.
func deliver(ctx context.Context, b *bench, first, last int) {
	mark := b.audit.Mark()
	must.OK(b.load.addApplications(ctx, first, last))
	b.say("%d Applications are there", len(b.load.apps))
	// The audit log costs the API server nothing to ask; a list of all works does.
	b.await(ctx, "propagation to create every ManifestWork", mark, (last-first)*b.Size.Sets, creations)
	must.OK(env.WaitFor(ctx, patience, "every ManifestWork", func(ctx context.Context) (bool, string) {
		err := b.load.learnWorks(ctx)
		return err == nil, fmt.Sprint(err)
	}))
	must.OK(b.load.reportAll(ctx, b.load.apps[first*b.Size.Sets:]))
	b.awaitStatuses(ctx)
}

// coldDelivery measures how fast propagation delivers Applications that are all there when
// it starts, between two halves of the same server's own limit.
func coldDelivery(ctx context.Context, b *bench) {
	prepareBaseline(ctx, b)
	b.product.halt(ctx, binaries...)
	before := len(b.load.apps)
	must.OK(b.load.addApplications(ctx, b.Size.at(len(b.Size.Stages)-2), b.Size.Clusters))
	fresh := len(b.load.apps) - before
	half := min(baselineWorks, fresh)
	createBaseline(ctx, b, half)
	mark, began := b.audit.Mark(), time.Now()
	ready := b.product.resume(ctx, env.Propagation)
	first, last := span(b.await(ctx, "propagation to create every ManifestWork", mark, fresh, creations))
	b.product.halt(ctx, env.Propagation) // what it does after that is not to disturb the baseline
	createBaseline(ctx, b, half)
	delivered := throughput{done: fresh, took: last.Sub(first)}
	limit := b.baseline.created.perSecond()
	b.row(figure.Row{
		What: "cold delivery against the server's own limit", Value: delivered.perSecond() / limit, Unit: "×", Comparison: figure.AtLeast, Target: 0.7,
		Beside: fmt.Sprintf("%.0f against %.0f ManifestWorks/s, %d of them; ready after %s, first one after %s",
			delivered.perSecond(), limit, fresh, round(ready), round(first.Sub(began))),
	})
	b.product.resume(ctx, binaries...)
	must.OK(b.load.learnWorks(ctx))
}

// storm lets ManifestWorks of the last stage get their first status, very many at
// once, between stretches of the same server's own limit.
func storm(ctx context.Context, b *bench) {
	// Agents that stay silent for a while have their Applications called Unknown.
	b.awaitStatuses(ctx)
	silent := b.load.apps[b.Size.at(len(b.Size.Stages)-2)*b.Size.Sets:]
	half := b.baseline.works / 2
	patchBaseline(ctx, b, 0, half)
	var mirrored, sent throughput
	var patches, refused, reported, times int
	for ; times < storms; times++ {
		hit := silent[:min(len(silent), b.Size.Storm)]
		if times > 0 && len(hit) < b.Size.Storm {
			break
		}
		silent = silent[len(hit):]
		mark, began := b.audit.Mark(), time.Now()
		must.OK(b.load.reportAll(ctx, hit))
		sent.add(len(hit), time.Since(began))
		b.await(ctx, "propagation to mirror every status", mark, len(hit), mirrors)
		b.awaitNoWrites(ctx, silence)
		patched := b.since(mark, mirrors)
		_, last := span(patched)
		mirrored.add(len(hit), last.Sub(began))
		patches += len(patched)
		refused += len(b.since(mark, func(e *audit.Entry) bool {
			return e.Account == env.Account(env.Propagation) && write(e) && e.Code >= 300
		}))
		reported += len(b.since(mark, reports))
		patchBaseline(ctx, b, half*((times+1)%2), half) // the halves take turns
	}
	limit := b.baseline.patched.perSecond()
	b.row(figure.Row{
		What: "storm of first statuses against the server's own limit", Value: mirrored.perSecond() / limit, Unit: "×", Comparison: figure.AtLeast, Target: 0.5,
		Beside: fmt.Sprintf("%.0f changes/s against %.0f patches/s; %d changes, %d at once, sent in %s, mirrored in %s",
			mirrored.perSecond(), limit, mirrored.done, mirrored.done/times, round(sent.took), round(mirrored.took)),
	})
	b.row(atMost(1, "", "writes per change in the storm", float64(patches)/float64(mirrored.done),
		"%d refused or in conflict; %d writes of %d reports meanwhile", refused, reported, b.Size.Sets))
	clearBaseline(ctx, b)
	must.OK(b.load.reportAll(ctx, silent))
	b.awaitStatuses(ctx)
}

func baselineName(i int) string { return fmt.Sprintf("base-%05d", i) }

// prepareBaseline takes a delivered work as the template.
func prepareBaseline(ctx context.Context, b *bench) {
	a := b.load.apps[0]
	var work map[string]any
	must.OK(b.load.hub.Get(ctx, a.path(), &work))
	delete(work, "status")
	if m, ok := work["metadata"].(map[string]any); ok {
		// They keep their length and lose their meaning: propagation puts its label back onto a work with its annotations.
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
	b.baseline.template = work
	for _, name := range baselineNamespaces() {
		must.OK(b.load.hub.Create(ctx, simulate.Namespaces, simulate.NamespaceObject(name)))
	}
}

// createBaseline creates n more works and times it.
func createBaseline(ctx context.Context, b *bench, n int) {
	first := b.baseline.works
	bodies := make([][]byte, n)
	for i := range bodies {
		if m, ok := b.baseline.template["metadata"].(map[string]any); ok {
			m["namespace"], m["name"] = baselineNamespace(first+i), baselineName(first+i)
		}
		bodies[i] = must.Get(json.Marshal(b.baseline.template))
	}
	began := time.Now()
	must.OK(hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.load.hub.Create(ctx, simulate.WorksIn(baselineNamespace(first+i)), bodies[i])
	}))
	b.baseline.created.add(n, time.Since(began))
	b.baseline.works += n
}

// patchBaseline gives n of the works a status, from first on, time and again for a whole
// stretch, and times it.
func patchBaseline(ctx context.Context, b *bench, first, n int) {
	for end := time.Now().Add(patchedFor); n > 0 && time.Now().Before(end); {
		bodies := make([][]byte, n)
		for i := range bodies {
			bodies[i] = simulate.WorkStatus("set00", "cluster0000", 1, simulate.Healthy(b.load.nextRevision()))
		}
		began := time.Now()
		must.OK(hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
			return b.load.hub.Merge(ctx, simulate.WorksIn(baselineNamespace(first+i))+"/"+baselineName(first+i)+"/status", bodies[i])
		}))
		b.baseline.patched.add(n, time.Since(began))
	}
}

// clearBaseline deletes the works and waits until they are gone.
func clearBaseline(ctx context.Context, b *bench) {
	for _, namespace := range baselineNamespaces() {
		must.Get(b.load.hub.Discard(ctx, http.MethodDelete, simulate.WorksIn(namespace), nil))
		must.OK(env.Wait(ctx, "the baseline's works to be gone from "+namespace, func(ctx context.Context) (bool, string) {
			var list struct {
				Items []struct{} `json:"items"`
			}
			err := b.load.hub.Metadata(ctx, simulate.WorksIn(namespace)+"?limit=1", &list)
			return err == nil && len(list.Items) == 0, fmt.Sprint(err)
		}))
	}
}
