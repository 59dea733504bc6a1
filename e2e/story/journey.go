// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Journey is how long something took on its way, hop by hop.
type Journey struct {
	Title string
	Hops  []Hop
}

// Hop is one stretch of a journey, from the hop before it to here.
type Hop struct {
	Name string
	// Took is by managed cluster.
	Took map[string]time.Duration
}

// Journeys returns what was measured so far.
func (s *Story) Journeys() []Journey { return s.journeys }

// mark is a place that a journey passes, and how to see that it is there.
type mark struct {
	name  string
	holds func() (bool, string)
}

// travel watches all marks of every managed cluster at the same time, until all
// are passed, and notes how long each hop took since began.
func (s *Story) travel(ctx context.Context, title string, began time.Time, marksFor func(cluster string) []mark) error {
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
				at, err := s.view.Await(ctx, fmt.Sprintf("%s: %s", c.Name, m.name), m.holds)
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
	journey := Journey{Title: title}
	for i, name := range names {
		hop := Hop{Name: name, Took: map[string]time.Duration{}}
		for cluster, at := range passed {
			before := began
			if i > 0 {
				before = at[i-1]
			}
			hop.Took[cluster] = max(0, at[i].Sub(before))
		}
		journey.Hops = append(journey.Hops, hop)
	}
	s.journeys = append(s.journeys, journey)
	return nil
}

// commitMarks are the places that a commit passes until the report has it.
func (s *Story) commitMarks(revision string) func(cluster string) []mark {
	return func(cluster string) []mark {
		name := application(cluster)
		return []mark{
			{"Argo CD on the managed cluster sees the commit", func() (bool, string) {
				a, ok := s.view.Application(cluster, name)
				return ok && a.Revision == revision, s.view.everywhere(name, cluster)
			}},
			{"synced and healthy on the managed cluster", s.well(cluster, name, revision)},
			{"the hub Application says so", s.well(hub, name, revision)},
			{"the report says so", s.reported(name, revision)},
		}
	}
}

// well holds when the Application on a cluster, or the hub, is at the revision and well.
func (s *Story) well(where, name, revision string) func() (bool, string) {
	return func() (bool, string) {
		a, ok := s.view.Application(where, name)
		if !ok {
			return false, "no Application " + name + " on " + where
		}
		return a.Well(revision) && len(a.Conditions) == 0, a.String()
	}
}

// reported holds when the report calls the Application well at the revision.
func (s *Story) reported(name, revision string) func() (bool, string) {
	return func() (bool, string) {
		row, ok := s.view.ReportRow(ApplicationSet, name)
		if !ok {
			return false, "no row in the report"
		}
		return row.Well(revision) && len(row.Conditions) == 0, row.String()
	}
}
