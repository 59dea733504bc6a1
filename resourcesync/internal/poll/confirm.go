// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
)

// confirm reads the suspicious clusters a second time, a few at once, and takes
// over what it can prove. What stays unproven is kept as it was and dated.
func (p *Poller) confirm(ctx context.Context, view fleet.View, found *suspects, until time.Time) {
	if len(found.clusters) == 0 {
		return
	}
	if !sleep(ctx, min(time.Second, p.Options.Interval/10)) {
		return
	}
	clusters := slices.Sorted(maps.Keys(found.clusters))
	visible := p.visible(ctx, view, until)
	each(slices.Collect(slices.Chunk(clusters, confirmGroup)), func(group []string) {
		second := map[string]reading{}
		p.read(ctx, group, until, func(clusters []string, r reply) {
			for _, c := range clusters {
				second[c] = reading{apps: r.apps[c], at: r.asked}
			}
		}, found.fail)
		p.judge(ctx, visible, found, group, second, until)
	})
}

// reading is an answer about one cluster and when it was asked for.
type reading struct {
	apps []translate.Application
	at   time.Time
}

// judge decides on each cluster of a group after its second read.
func (p *Poller) judge(ctx context.Context, visible map[string]bool, found *suspects, group []string, second map[string]reading, until time.Time) {
	losses := map[string]loss{}
	for cluster, r := range second {
		first, again := p.lost(cluster, found.clusters[cluster]), p.lost(cluster, r.apps)
		switch {
		case again.none():
			p.accept(cluster, r.apps, r.at)
		case !again.equal(&first):
			p.distrust([]string{cluster})
			found.fail(&search.Error{Kind: search.KindIncomplete, Detail: "two reads of cluster " + cluster + " differ in what has vanished"})
		default:
			losses[cluster] = again
		}
	}
	if len(losses) == 0 {
		return
	}
	still, err := p.still(ctx, losses, until)
	if err != nil {
		p.distrust(slices.Collect(maps.Keys(losses)))
		found.fail(fmt.Errorf("look up %d clusters from %s on: %w", len(group), group[0], err))
		return
	}
	for cluster, l := range losses {
		r := second[cluster]
		var doubtful string
		switch {
		case len(l.apps) > 0 && !visible[cluster]:
			doubtful = fmt.Sprintf("%d Applications have vanished, but the account does not see the cluster", len(l.apps))
		case still[cluster] > 0:
			doubtful = fmt.Sprintf("%d resources have vanished from their Applications, but are still there", still[cluster])
		case len(l.unproven) > 0 && !p.sawObjects():
			doubtful = fmt.Sprintf("%d Applications without any resource, and no other Application has one either: the relations failed, or fine-grained RBAC does not grant the deployed kinds", len(l.unproven))
		}
		if doubtful == "" || visible[cluster] && p.persists(cluster, l, r.at) {
			p.accept(cluster, r.apps, r.at)
			continue
		}
		p.hold(cluster, r)
		found.fail(&search.Error{Kind: search.KindIncomplete, Detail: "cluster " + cluster + ": " + doubtful})
	}
}

// hold keeps what is known of a cluster and dates it. A cluster of which nothing
// is known gets what was answered, dated too: it is all there is.
func (p *Poller) hold(cluster string, r reading) {
	p.distrust([]string{cluster})
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.known[cluster]; known || len(r.apps) == 0 {
		return
	}
	since := r.at.UTC().Truncate(time.Second)
	p.known[cluster] = translate.Cluster{Applications: r.apps, StaleSince: &since}
	p.touch(r.apps)
}

// persists tells whether the same loss has been repeated long enough to be
// believed without proof: an object may well stay when it leaves its Application.
func (p *Poller) persists(cluster string, l loss, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.doubts[cluster]
	if !ok || !d.loss.equal(&l) {
		p.doubts[cluster] = doubt{since: now, loss: l}
		return false
	}
	return p.objects && now.Sub(d.since) >= believeAfter
}

// sawObjects tells whether some answer of this poll had relations at all.
func (p *Poller) sawObjects() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects
}

// still counts the vanished objects that search finds on their cluster all the
// same. It asks for the objects themselves, not for relations.
func (p *Poller) still(ctx context.Context, losses map[string]loss, until time.Time) (map[string]int, error) {
	var clusters []string
	kinds, names := map[string]bool{}, map[string]bool{}
	for cluster, l := range losses {
		if len(l.objects) > 0 {
			clusters = append(clusters, cluster)
		}
		for _, r := range l.objects {
			kinds[r.Kind], names[r.Name] = true, true
		}
	}
	if len(clusters) == 0 {
		return nil, nil
	}
	slices.Sort(clusters)
	var r *search.Result
	err := p.try(ctx, until, func() (err error) {
		r, err = p.Search.Objects(ctx, clusters, slices.Sorted(maps.Keys(kinds)), slices.Sorted(maps.Keys(names)))
		return err
	})
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	there := translate.Objects(r.Items)
	for cluster, l := range losses {
		for _, o := range l.objects {
			if there[translate.Object{Cluster: cluster, Resource: o}] {
				count[cluster]++
			}
		}
	}
	return count, nil
}

// visible returns the clusters that the account sees; none when that cannot be told.
func (p *Poller) visible(ctx context.Context, view fleet.View, until time.Time) map[string]bool {
	var r *search.Result
	err := p.try(ctx, until, func() (err error) { r, err = p.Search.Clusters(ctx); return err })
	if err != nil {
		return nil
	}
	p.reportAccess(view, r)
	seen := map[string]bool{}
	for i := range r.Items {
		seen[r.Items[i].Name] = true
	}
	return seen
}
