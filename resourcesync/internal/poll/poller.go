// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

const (
	pollGap = time.Second // between the end of a poll and the start of the next
	// fewStale is how many clusters may be stale while polls succeed, unless they are half of
	// those with Applications. Beyond, a quarter may.
	fewStale = 10
)

// NeedLeaderElection is false: the files belong to the pod.
func (p *Poller) NeedLeaderElection() bool { return false }

// Start polls until ctx ends. Polls never overlap.
func (p *Poller) Start(ctx context.Context) error {
	p.restore(ctx)
	searchInterval.Set(p.Options.Interval.Seconds())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		started := time.Now()
		p.poll(ctx)
		timer.Reset(max(pollGap, time.Until(started.Add(p.pause()))))
	}
}

// absentIntervals is the number of intervals between two polls of a search that has never answered.
// A hub may never have search. If search is installed later, a minute by default is soon enough.
const absentIntervals = 6

// pause returns the time to the next poll. A tenth of it is random, so that the pods of several
// hubs do not poll at the same time.
func (p *Poller) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.Options.Interval
	if p.absent() {
		d *= absentIntervals
	}
	return d - wait.Jitter(d/30, 2)
}

// restore reads the data of an earlier run from the files, and begins to request clusters alone
// where that is needed.
func (p *Poller) restore(ctx context.Context) {
	p.apart, p.slots = newApart(p.Options.Interval), make(chan struct{}, inFlight)
	go p.readApart(ctx, p.apart)
	p.state, p.reports = newState(p.Options.Interval), newReports(p.Files, p.Log)
	p.changes, p.round = changes{}, &round{}
	success, err := p.Files.LastSuccess()
	if err != nil {
		p.Log.Error(err, "cannot read the time of the last successful poll")
	}
	if !success.IsZero() {
		p.reached = true
		lastSuccess.Set(float64(success.Unix()))
	}
	p.reports.restore(p.state, success, time.Now())
}

// poll requests everything once and writes the changes.
func (p *Poller) poll(ctx context.Context) {
	started := time.Now()
	view, err := p.Fleet.View(ctx)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.round.view.Sets != nil { // the hub's last lists stay, and become old
			err = errors.Join(err, p.publishStale(started))
		}
		p.logFailure(err)
		return
	}
	p.mu.Lock()
	p.state.setClusters(view.Clusters)
	for c := range p.apart.clusters {
		if p.state.clusters[c] == nil {
			p.apart.remove(c)
		}
	}
	p.state.readExcluded()
	p.round = &round{started: started, view: view, published: started}
	if p.reports.silent == nil {
		p.reports.silent = p.unread()
	}
	p.mu.Unlock()

	err = p.readSearch(ctx)
	if ctx.Err() != nil {
		return // stopping: half a poll is no finding about search
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	written := p.publishStale(started)
	if err == nil {
		err = p.checkStale()
	}
	err = errors.Join(err, written)
	p.logFailure(err)
	p.updateMetrics()
	pollSeconds.Observe(time.Since(started).Seconds())
	if err == nil {
		p.recordSuccess(started)
	}
}

// publishStale records the age of stale clusters and writes the reports. The caller holds mu.
func (p *Poller) publishStale(started time.Time) error {
	if dated := p.state.markStale(started); len(dated) > 0 {
		p.Log.Info("search has not answered for managed clusters for several polls; reports keep their data and show since when it is stale", "clusters", names(dated))
	}
	return p.publish()
}

// readSearch reads every cluster that has pulled Applications, had some or was never read. The
// error is about search as a whole. Answers without an error still count.
func (p *Poller) readSearch(ctx context.Context) error {
	var have []string
	err := p.retry(ctx, deadline, attempts, func(ctx context.Context) (err error) { have, err = p.Search.ClustersWithApplications(ctx); return err })
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.apart.clear()
		return err
	}
	accessError := p.checkAccess(ctx, len(have) > 0)
	p.mu.Lock()
	p.reached = true
	together := slices.DeleteFunc(p.state.targets(have, p.access.shows), func(c string) bool { return p.apart.clusters[c] != nil })
	p.mu.Unlock()
	return errors.Join(accessError, p.readAll(ctx, together))
}

// checkAccess checks at intervals whether search shows all clusters of the fleet to the account.
func (p *Poller) checkAccess(ctx context.Context, have bool) error {
	p.mu.Lock()
	due, view := p.access.due(p.round.started), p.round.view
	p.mu.Unlock()
	var r *search.Result
	var err error
	if due {
		err = p.retry(ctx, deadline, attempts, func(ctx context.Context) (err error) { r, err = p.Search.Clusters(ctx); return err })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := search.KindOf(err)
	if due && ctx.Err() == nil && p.changes.differ("access check", string(kind)) && err != nil {
		p.Log.Error(err, "cannot read which managed clusters search shows; reports keep the data of clusters with empty answers until it succeeds",
			"kind", kind, "remedy", "for too_large raise --search-max-answer and the container's memory limit with it; otherwise see the log of search-api")
	}
	if due && err == nil { // otherwise the last result stays
		p.access.set(r, time.Now())
		advised, keys := accessAdvice(view, p.access.seen)
		switch {
		case !p.changes.differ("access", advised):
		case advised == "":
			p.Log.Info("search shows every managed cluster again")
		default:
			p.Log.Error(nil, advised, keys...)
		}
	}
	return p.access.check(view, have)
}

// checkStale returns an error when so many of the clusters that search shows are stale or
// were never read that a poll is no success. The caller holds mu.
func (p *Poller) checkStale() error {
	stale, shown := 0, 0
	for c, st := range p.state.clusters {
		if p.access.shows(c) && (st.unread || len(st.Applications) > 0) {
			shown++
			if st.StaleSince != nil || st.unread && len(st.Applications) == 0 {
				stale++
			}
		}
	}
	many := stale >= fewStale && stale*4 > shown || stale > 1 && stale*2 >= shown
	if !many {
		return nil
	}
	return &search.Error{Kind: search.KindIncomplete, Detail: fmt.Sprintf("%d of %d clusters with Applications have given no trustworthy answer for several polls", stale, shown)}
}
