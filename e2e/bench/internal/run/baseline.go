// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	// baselineWorks is the most works that each half of a baseline writes.
	baselineWorks = 2500
	// patchedFor is how long a stretch of patches is at least. The API server collects
	// garbage for ten seconds at a time when it holds a large fleet, and a stretch is
	// to have its share of that, as a storm has.
	patchedFor = 25 * time.Second
)

func baselineName(i int) string { return fmt.Sprintf("base-%05d", i) }

// prepareBaseline takes a delivered work as the template.
func prepareBaseline(ctx context.Context, b *bench) error {
	a := b.apps[0]
	var work map[string]any
	if err := b.hub.Get(ctx, simulate.WorksIn(a.cluster)+"/"+a.work, &work); err != nil {
		return err
	}
	delete(work, "status")
	if m, ok := work["metadata"].(map[string]any); ok {
		// They keep their length and lose their meaning: propagation puts its label back onto a work with its annotations.
		work["metadata"] = map[string]any{"annotations": disguise(m["annotations"]), "labels": disguise(m["labels"])}
	}
	b.baseline.template = work
	for i := range baselineNamespaces {
		if err := b.hub.Create(ctx, simulate.Namespaces, simulate.NamespaceObject(baselineNamespace(i))); err != nil {
			return err
		}
	}
	return nil
}

func disguise(words any) map[string]any {
	out := map[string]any{}
	if all, ok := words.(map[string]any); ok {
		for key, value := range all {
			out["x"+key[1:]] = value
		}
	}
	return out
}

// createBaseline creates n more works and times it.
func createBaseline(ctx context.Context, b *bench, n int) error {
	first := b.baseline.works
	bodies := make([][]byte, n)
	for i := range bodies {
		if m, ok := b.baseline.template["metadata"].(map[string]any); ok {
			m["namespace"], m["name"] = baselineNamespace(first+i), baselineName(first+i)
		}
		body, err := json.Marshal(b.baseline.template)
		if err != nil {
			return err
		}
		bodies[i] = body
	}
	began := time.Now()
	err := hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.hub.Create(ctx, simulate.WorksIn(baselineNamespace(first+i)), bodies[i])
	})
	b.baseline.created.add(n, time.Since(began))
	b.baseline.works += n
	return err
}

// patchBaseline gives n of the works a status, from first on, time and again for a whole
// stretch, and times it.
func patchBaseline(ctx context.Context, b *bench, first, n int) error {
	if n == 0 {
		return nil
	}
	for end := time.Now().Add(patchedFor); time.Now().Before(end); {
		bodies := make([][]byte, n)
		for i := range bodies {
			bodies[i] = simulate.WorkStatus("set00", "cluster0000", 1, simulate.Healthy(b.nextRevision()))
		}
		began := time.Now()
		err := hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
			return b.hub.Merge(ctx, simulate.WorksIn(baselineNamespace(first+i))+"/"+baselineName(first+i)+"/status", bodies[i])
		})
		b.baseline.patched.add(n, time.Since(began))
		if err != nil {
			return err
		}
	}
	return nil
}

// clearBaseline deletes the works and waits until they are gone.
func clearBaseline(ctx context.Context, b *bench) error {
	for i := range baselineNamespaces {
		if _, err := b.hub.Discard(ctx, http.MethodDelete, simulate.WorksIn(baselineNamespace(i)), "", nil); err != nil {
			return err
		}
	}
	return env.Wait(ctx, "the baseline's works to be gone", func(ctx context.Context) (bool, string) {
		for i := range baselineNamespaces {
			var list struct {
				Items []struct{} `json:"items"`
			}
			if err := b.hub.Metadata(ctx, simulate.WorksIn(baselineNamespace(i))+"?limit=1", &list); err != nil {
				return false, err.Error()
			}
			if len(list.Items) > 0 {
				return false, baselineNamespace(i) + " has some"
			}
		}
		return true, ""
	})
}
