// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Searcher asks search; [search.Client] is one.
type Searcher interface {
	ClustersWithApplications(ctx context.Context) ([]string, error)
	Applications(ctx context.Context, clusters []string, last search.Digest) (*search.Result, error)
	Objects(ctx context.Context, clusters, kinds, names []string) (*search.Result, error)
	Clusters(ctx context.Context) (*search.Result, error)
}

// Fleet tells what there is on the hub; [fleet.Reader] is one.
type Fleet interface {
	View(ctx context.Context) (fleet.View, error)
}

// Files keeps the reports; [intermediate.Store] is one.
type Files interface {
	List() ([]intermediate.Key, error)
	Read(namespace, name string) (*intermediate.Report, error)
	WrittenAt(namespace, name string) (time.Time, error)
	Write(r *intermediate.Report) error
	Remove(namespace, name string) error
}

// Options are the times and sizes of a [Poller].
type Options struct {
	// Interval is the time from the start of one poll to the start of the next.
	Interval time.Duration
	// ProbeInterval is how often a search that has never been there is looked for.
	ProbeInterval time.Duration
	// BatchSize is the largest number of clusters in one request.
	BatchSize int
}

const (
	inFlight     = 2      // requests at once; more make the server slower, not the poll faster
	batchObjects = 20_000 // resources expected in one answer: some 6 MB
	attempts     = 3      // tries of one request within a poll
	firstBackoff = 250 * time.Millisecond
	wakeGap      = time.Second     // between a poll and one that a hint asks for
	accessEvery  = 5 * time.Minute // search itself remembers access rights that long
	believeAfter = 5 * time.Minute // how long a loss without proof must be repeated
	confirmGroup = 10              // clusters in one confirming read
)

// Poller keeps the intermediate reports. Its fields are set before Start.
type Poller struct {
	Search  Searcher
	Fleet   Fleet
	Files   Files
	Log     logr.Logger
	Options Options
	// Wake asks for a poll before its time; nil: never.
	Wake <-chan struct{}

	mu      sync.Mutex                   // guards what two batches may change at once
	known   map[string]translate.Cluster // by managed cluster
	readAt  map[string]time.Time         // when a cluster's answer was last good
	doubts  map[string]doubt             // losses that are not proven yet
	dirty   map[intermediate.Key]bool    // reports that may differ from their files
	answers map[string]*answer           // by managed cluster: what is known of it comes from
	objects bool                         // some answer of this poll had objects

	rows       map[intermediate.Key]bool        // ApplicationSets with Applications; nil: not counted yet
	stale      int                              // clusters in known that are
	written    map[intermediate.Key]fingerprint // what the files hold
	reached    bool                             // search has answered since the start
	failing    string                           // what was last said to be wrong
	accessAt   time.Time                        // when access was last checked
	accessSaid string
}

// doubt is a loss that two reads agree on and nothing proves.
type doubt struct {
	since time.Time
	loss  loss
}

// NeedLeaderElection is false: the files belong to the pod.
func (p *Poller) NeedLeaderElection() bool { return false }

// Start polls until ctx ends. Polls never overlap.
func (p *Poller) Start(ctx context.Context) error {
	p.restore()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var started time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-p.Wake:
			if !sleep(ctx, wakeGap-time.Since(started)) {
				return nil
			}
		}
		started = time.Now()
		p.poll(ctx)
		timer.Reset(time.Until(started.Add(p.pause())))
	}
}

// pause is the time to the next poll, a tenth of it random, so that the pods of a
// fleet of hubs do not ask in step.
func (p *Poller) pause() time.Duration {
	d := p.Options.Interval
	if p.absent() {
		d = p.Options.ProbeInterval
	}
	return d - jitter(d/15)
}

// poll asks for everything once and writes what has changed.
func (p *Poller) poll(ctx context.Context) {
	started := time.Now()
	view, err := p.Fleet.View(ctx)
	if err != nil {
		p.say(err) // the hub cannot be read: nothing is concluded from that
		return
	}
	p.forget(view.Clusters)
	p.objects = false
	err = p.ask(ctx, view, started.Add(p.Options.Interval))
	if ctx.Err() != nil {
		return // stopping: half a poll says nothing about search
	}
	err = errors.Join(err, p.publish(view))
	p.say(err)
	pollSeconds.Observe(time.Since(started).Seconds())
	if err == nil {
		lastSuccess.SetToCurrentTime()
	}
}

// ask reads every cluster that has pulled Applications, or had some. The error is
// the first failure; what did not fail is taken over all the same.
func (p *Poller) ask(ctx context.Context, view fleet.View, until time.Time) error {
	var have []string
	err := p.try(ctx, until, func() (err error) { have, err = p.Search.ClustersWithApplications(ctx); return err })
	if err != nil {
		p.distrust(slices.Collect(maps.Keys(p.known)))
		return err
	}
	p.reached = true
	p.checkAccess(ctx, view)
	suspects := p.readAll(ctx, p.batches(p.targets(view.Clusters, have)), until)
	p.confirm(ctx, view, suspects, until)
	return suspects.err
}

// targets are the clusters to ask about: those that exist, and have Applications
// or are known to have had some.
func (p *Poller) targets(exist, have []string) []string {
	has := make(map[string]bool, len(have))
	for _, c := range have {
		has[c] = true
	}
	return slices.DeleteFunc(slices.Clone(exist), func(c string) bool {
		_, known := p.known[c]
		return !has[c] && !known
	})
}

// batches cuts the clusters into requests by number and by what is known of their
// size.
func (p *Poller) batches(clusters []string) [][]string {
	var out [][]string
	size := 0
	for _, c := range clusters {
		weight := 0
		apps := p.known[c].Applications
		for i := range apps {
			weight += 1 + len(apps[i].Resources)
		}
		if n := len(out); n > 0 && len(out[n-1]) < p.Options.BatchSize && size+weight <= batchObjects {
			out[n-1] = append(out[n-1], c)
			size += weight
			continue
		}
		out, size = append(out, []string{c}), weight
	}
	return out
}

// forget drops the clusters that do not exist any more.
func (p *Poller) forget(exist []string) {
	for c, state := range p.known {
		if _, found := slices.BinarySearch(exist, c); !found {
			p.touch(state.Applications)
			delete(p.known, c)
			delete(p.readAt, c)
			delete(p.doubts, c)
		}
	}
	maps.DeleteFunc(p.answers, func(c string, _ *answer) bool { _, found := slices.BinarySearch(exist, c); return !found })
}

// accept takes an answer over as the truth about a cluster.
func (p *Poller) accept(cluster string, fresh []translate.Application, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unremember(cluster)
	delete(p.doubts, cluster)
	p.readAt[cluster] = now
	before, known := p.known[cluster]
	if len(fresh) == 0 {
		p.touch(before.Applications)
		delete(p.known, cluster)
		return
	}
	if known && before.StaleSince == nil && equal(before.Applications, fresh) {
		return
	}
	p.touch(before.Applications)
	p.touch(fresh)
	p.known[cluster] = translate.Cluster{Applications: fresh}
}

// distrust keeps what is known of clusters and dates it.
func (p *Poller) distrust(clusters []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range clusters {
		p.unremember(c)
		state, ok := p.known[c]
		if !ok || state.StaleSince != nil {
			continue
		}
		since := p.readAt[c].UTC().Truncate(time.Second)
		state.StaleSince = &since
		p.known[c] = state
		p.touch(state.Applications)
	}
}

func (p *Poller) touch(apps []translate.Application) {
	for i := range apps {
		p.dirty[apps[i].Set] = true
	}
}

func equal(a, b []translate.Application) bool {
	return slices.EqualFunc(a, b, func(x, y translate.Application) bool {
		return x.Compare(&y) == 0 && x.Bare == y.Bare && slices.Equal(x.Resources, y.Resources) && slices.Equal(x.Conditions, y.Conditions)
	})
}
