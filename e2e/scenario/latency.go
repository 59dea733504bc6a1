// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Latency is the duration of a change, stage by stage.
type Latency struct {
	Title  string
	Stages []Stage
}

// Stage is one part of a change.
type Stage struct {
	Name string
	// Took is the time since the stage before, by managed cluster.
	Took map[string]time.Duration
}

// Latencies returns the measurements so far.
func (s *Scenario) Latencies() []Latency { return s.latencies }

// mark is the end of a stage, with its check.
type mark struct {
	name  string
	holds func() (bool, string)
}

// measure watches all marks of every managed cluster in parallel until all are reached. It records how long
// each stage took since began.
func (s *Scenario) measure(ctx context.Context, title string, began time.Time, marksFor func(cluster string) []mark) error {
	var mu sync.Mutex
	passed := map[string]map[int]time.Time{}
	group, ctx := errgroup.WithContext(ctx)
	var names []string
	for _, c := range s.fleet.Managed {
		marks := marksFor(c.Name)
		passed[c.Name] = map[int]time.Time{}
		names = names[:0]
		for i, m := range marks {
			names = append(names, m.name)
			group.Go(func() error {
				at, err := s.watch.view.Await(ctx, fmt.Sprintf("%s: %s", c.Name, m.name), m.holds)
				mu.Lock()
				defer mu.Unlock()
				passed[c.Name][i] = at
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	latency := Latency{Title: title}
	for i, name := range names {
		stage := Stage{Name: name, Took: map[string]time.Duration{}}
		for cluster, at := range passed {
			before := began
			if i > 0 {
				before = at[i-1]
			}
			stage.Took[cluster] = max(0, at[i].Sub(before))
		}
		latency.Stages = append(latency.Stages, stage)
	}
	s.latencies = append(s.latencies, latency)
	return nil
}

// commitStages returns the stages of a commit until it is in the report.
func (w watch) commitStages(revision string) func(cluster string) []mark {
	return func(cluster string) []mark {
		name := application(cluster)
		return []mark{
			{"Argo CD on the managed cluster sees the commit", func() (bool, string) {
				a, ok := w.view.Application(cluster, name)
				return ok && a.Revision == revision, w.view.everywhere(name, cluster)
			}},
			{"synced and healthy on the managed cluster", w.syncedAndHealthy(cluster, name, revision)},
			{"the hub Application shows it", w.syncedAndHealthy(hub, name, revision)},
			{"the report shows it", w.reported(name, revision)},
		}
	}
}

// syncedAndHealthy returns a check that an Application on a managed cluster or the hub is synced and healthy.
func (w watch) syncedAndHealthy(where, name, revision string) func() (bool, string) {
	return func() (bool, string) {
		a, ok := w.view.Application(where, name)
		if !ok {
			return false, "no Application " + name + " on " + where
		}
		return a.SyncedAndHealthy(revision) && len(a.Conditions) == 0, a.String()
	}
}

// reported returns a check that the report shows the Application as synced and healthy at the revision.
func (w watch) reported(name, revision string) func() (bool, string) {
	return func() (bool, string) {
		row, ok := w.view.ReportRow(w.set, name)
		if !ok {
			return false, "no row in the report"
		}
		return row.SyncedAndHealthy(revision) && len(row.Conditions) == 0, row.String()
	}
}
