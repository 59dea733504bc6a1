// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const (
	confirmGroup = 10  // clusters in one confirming read
	namesAtOnce  = 500 // names in one question for objects
)

// verify reads the clusters whose answers leave something out a second time, a few
// at once. What is proven to be gone goes; the rest is held, each thing for itself,
// beside all that the answers do say.
func (p *Poller) verify(ctx context.Context, view fleet.View, found *missing, until time.Time) {
	if len(found.clusters) == 0 || !clock.Sleep(ctx, min(time.Second, p.Options.Interval/10)) {
		return
	}
	visible := p.visible(ctx, view, until)
	clusters := slices.Sorted(maps.Keys(found.clusters))
	forEach(slices.Collect(slices.Chunk(clusters, confirmGroup)), inFlight, func(group []string) {
		second := map[string]reading{}
		p.readBatch(ctx, group, until, func(clusters []string, r reply) {
			for _, c := range clusters {
				second[c] = reading{apps: r.apps[c], at: r.asked}
			}
		})
		for _, c := range group {
			if ctx.Err() != nil {
				return
			}
			again, is := second[c]
			p.verifyCluster(ctx, c, found.clusters[c], again, is, visible[c], until)
		}
	})
}

// verifyCluster decides on a cluster after its second read, if there was one.
func (p *Poller) verifyCluster(ctx context.Context, cluster string, first, second reading, confirmed, visible bool, until time.Time) {
	p.mu.Lock()
	state, known := p.known[cluster]
	p.mu.Unlock()
	last := first
	if confirmed {
		last = second
	}
	switch {
	case len(last.apps) == 0 && !visible:
		return // it looks the same when the account does not see it: that is no answer
	case !known && lacksRelations(last.apps) && !p.outlasts(cluster, last.at):
		return // not yet read
	case !known:
		p.accept(cluster, last.apps, last.at)
		return
	}
	absent := translate.Absent(state.Applications, last.apps)
	gone := translate.Absence{Applications: map[translate.Identity]bool{}}
	if confirmed {
		both := absent.Both(translate.Absent(state.Applications, first.apps))
		if len(both.Applications) < len(absent.Applications) || len(both.Resources) < len(absent.Resources) {
			failures.WithLabelValues(string(search.KindIncomplete)).Inc() // two reads a second apart differ
		}
		gone.Applications = both.Applications
		gone.Resources = p.confirmedGone(ctx, cluster, both.Resources, until)
	}
	n := len(absent.Resources) - len(gone.Resources) + len(absent.Applications) - len(gone.Applications)
	maps.Copy(gone.Applications, stillAbsent(state.Applications, last.apps))
	merged := translate.Merge(state.Applications, last.apps, gone, last.at.UTC().Truncate(time.Second))
	p.accept(cluster, merged, last.at)
	if n > 0 {
		p.mu.Lock()
		p.outcome.held = append(p.outcome.held, fmt.Sprintf("%s: %d", cluster, n))
		p.mu.Unlock()
	}
}

// stillAbsent returns the Applications that an earlier answer has left out and that
// this one, about a cluster that the account sees, leaves out too: they are gone.
func stillAbsent(known, fresh []translate.Application) map[translate.Identity]bool {
	gone := map[translate.Identity]bool{}
	for i := range known {
		if !known[i].AbsentSince.IsZero() {
			gone[known[i].ID()] = true
		}
	}
	for i := range fresh {
		delete(gone, fresh[i].ID())
	}
	return gone
}

// outlasts reports whether a cluster's answers have looked for long as if relations
// failed, while others have some: then there may well be none.
func (p *Poller) outlasts(cluster string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, ok := p.bare[cluster]
	if !ok {
		p.bare[cluster] = now
		return false
	}
	return p.outcome.objects && now.Sub(since) >= acceptAbsenceAfter
}

// confirmedGone returns those of the resources that are not on the cluster any more. It
// asks for the objects themselves, not for relations.
func (p *Poller) confirmedGone(ctx context.Context, cluster string, resources map[intermediate.Resource]bool, until time.Time) map[intermediate.Resource]bool {
	gone := map[intermediate.Resource]bool{}
	var ask []intermediate.Resource
	for r := range resources {
		if searchable(r.Kind) && searchable(r.Name) {
			ask = append(ask, r)
		}
	}
	slices.SortFunc(ask, translate.CompareResources)
	for part := range slices.Chunk(ask, namesAtOnce) {
		kinds, names := map[string]bool{}, map[string]bool{}
		for _, r := range part {
			kinds[r.Kind], names[r.Name] = true, true
		}
		var result *search.Result
		err := p.retry(ctx, until, attempts, func() (err error) {
			result, err = p.Search.Objects(ctx, cluster, slices.Sorted(maps.Keys(kinds)), slices.Sorted(maps.Keys(names)))
			return err
		})
		if err != nil {
			return gone // what is not proven stays
		}
		there := translate.Objects(result.Items)
		for _, r := range part {
			if !there[translate.Object{Cluster: cluster, Resource: r}] {
				gone[r] = true
			}
		}
	}
	return gone
}

// searchable reports whether search takes a value as it is: not as a pattern and not
// as a comparison. Values come from managed clusters.
func searchable(value string) bool {
	return value != "" && !strings.Contains(value, "*") && !strings.ContainsAny(value[:1], "!=<>")
}

// reviewHeld looks at what is held of the clusters that have answered in this poll. It
// goes when it is proven to be gone or when it has been left out for long enough: an
// object may well stay when it leaves its Application.
func (p *Poller) reviewHeld(ctx context.Context, until time.Time) {
	now := time.Now()
	var due []string
	for c, state := range p.known {
		held, oldest := translate.Held(state.Applications)
		if held.Empty() {
			delete(p.reviewed, c)
			continue
		}
		if at, ok := p.reviewed[c]; !ok {
			p.reviewed[c] = now // it has just been asked about
		} else if p.outcome.answered[c] && (now.Sub(at) >= reviewEvery || now.Sub(oldest) >= acceptAbsenceAfter) {
			due = append(due, c)
		}
	}
	slices.Sort(due)
	forEach(due, inFlight, func(c string) { p.reviewCluster(ctx, c, now, until) })
}

func (p *Poller) reviewCluster(ctx context.Context, cluster string, now, until time.Time) {
	p.mu.Lock()
	apps, at := p.known[cluster].Applications, p.readAt[cluster]
	objects, last := p.outcome.objects, p.reviewed[cluster]
	p.mu.Unlock()
	held, _ := translate.Held(apps)
	var gone translate.Absence
	if objects {
		gone = translate.Expired(apps, now.Add(-acceptAbsenceAfter))
	}
	if now.Sub(last) >= reviewEvery {
		for r := range p.confirmedGone(ctx, cluster, held.Resources, until) {
			if gone.Resources == nil {
				gone.Resources = map[intermediate.Resource]bool{}
			}
			gone.Resources[r] = true
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(last) >= reviewEvery {
		p.reviewed[cluster] = now
	}
	if gone.Empty() {
		return
	}
	// What the last answer said is still what is known, but for what was held.
	a := p.answers[cluster]
	p.replaceLocked(cluster, translate.Release(apps, gone), at)
	if a != nil {
		p.answers[cluster] = a
	}
}

// visible returns the clusters that the account sees; none when that cannot be told.
func (p *Poller) visible(ctx context.Context, view fleet.View, until time.Time) map[string]bool {
	if !p.accessAt.Before(p.outcome.started) {
		return p.seen // asked for in this poll
	}
	p.readAccess(ctx, view, until)
	if p.accessAt.Before(p.outcome.started) {
		return nil
	}
	return p.seen
}
