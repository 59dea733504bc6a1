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

// yard is the yardstick: ManifestWorks with the same bytes as propagation's, less
// the labels by which the product would see them.
type yard struct {
	template map[string]any
	works    int
	created  pace
	patched  pace
	mirrored pace // patches of Applications
}

// pace is how much was done in how long.
type pace struct {
	done int
	took time.Duration
}

func (p *pace) add(done int, took time.Duration) {
	p.done += done
	p.took += took
}

// perSecond returns the rate, 0 when nothing was done.
func (p pace) perSecond() float64 {
	if p.took <= 0 {
		return 0
	}
	return float64(p.done) / p.took.Seconds()
}

const (
	// yardNamespaces spread the yard's works as clusters would.
	yardNamespaces = 10
	// yardWorks is the most works that each half of a yardstick writes.
	yardWorks = 2500
)

func yardNamespaceNames() []string {
	names := make([]string, yardNamespaces)
	for i := range names {
		names[i] = yardNamespace(i)
	}
	return names
}

func yardNamespace(i int) string { return fmt.Sprintf("yard-%d", i%yardNamespaces) }

func yardName(i int) string { return fmt.Sprintf("yard-%05d", i) }

// prepareYard takes a delivered work as the template.
func (b *bench) prepareYard(ctx context.Context) error {
	a := b.apps[0]
	var work map[string]any
	if err := b.hub.Get(ctx, simulate.WorksIn(a.cluster)+"/"+a.work, &work); err != nil {
		return err
	}
	delete(work, "status")
	if m, ok := work["metadata"].(map[string]any); ok {
		// the labels keep their length and lose their meaning
		work["metadata"] = map[string]any{"annotations": m["annotations"], "labels": disguise(m["labels"])}
	}
	b.yard.template = work
	for i := range yardNamespaces {
		if err := b.hub.Create(ctx, simulate.Namespaces, simulate.NamespaceObject(yardNamespace(i))); err != nil {
			return err
		}
	}
	return nil
}

func disguise(labels any) map[string]any {
	out := map[string]any{}
	if all, ok := labels.(map[string]any); ok {
		for key, value := range all {
			out["x"+key[1:]] = value
		}
	}
	return out
}

// createYard creates n more works and times it.
func (b *bench) createYard(ctx context.Context, n int) error {
	first := b.yard.works
	bodies := make([][]byte, n)
	for i := range bodies {
		if m, ok := b.yard.template["metadata"].(map[string]any); ok {
			m["namespace"], m["name"] = yardNamespace(first+i), yardName(first+i)
		}
		body, err := json.Marshal(b.yard.template)
		if err != nil {
			return err
		}
		bodies[i] = body
	}
	began := time.Now()
	err := hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.hub.Create(ctx, simulate.WorksIn(yardNamespace(first+i)), bodies[i])
	})
	b.yard.created.add(n, time.Since(began))
	b.yard.works += n
	return err
}

// patchYard gives n of the works a status, from first on, and times it.
func (b *bench) patchYard(ctx context.Context, first, n int) error {
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = simulate.WorkStatus("set00", "cluster0000", 1, simulate.Healthy(b.nextRevision()))
	}
	began := time.Now()
	err := hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.hub.Merge(ctx, simulate.WorksIn(yardNamespace(first+i))+"/"+yardName(first+i)+"/status", bodies[i])
	})
	b.yard.patched.add(n, time.Since(began))
	return err
}

// clearYard deletes the works and waits until they are gone.
func (b *bench) clearYard(ctx context.Context) error {
	for i := range yardNamespaces {
		if _, err := b.hub.Discard(ctx, http.MethodDelete, simulate.WorksIn(yardNamespace(i)), "", nil); err != nil {
			return err
		}
	}
	return env.Wait(ctx, "the yardstick's works to be gone", func(ctx context.Context) (bool, string) {
		for i := range yardNamespaces {
			var list struct {
				Items []struct{} `json:"items"`
			}
			if err := b.hub.Metadata(ctx, simulate.WorksIn(yardNamespace(i))+"?limit=1", &list); err != nil {
				return false, err.Error()
			}
			if len(list.Items) > 0 {
				return false, yardNamespace(i) + " has some"
			}
		}
		return true, ""
	})
}
