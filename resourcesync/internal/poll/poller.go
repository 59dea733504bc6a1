// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Searcher queries search; [search.Client] is one.
type Searcher interface {
	ClustersWithApplications(ctx context.Context) ([]string, error)
	Applications(ctx context.Context, clusters []string, last search.Digest) (*search.Result, error)
	Objects(ctx context.Context, cluster string, kinds, names []string) (*search.Result, error)
	Clusters(ctx context.Context) (*search.Result, error)
}

// Fleet lists clusters and ApplicationSets of the hub; [fleet.Reader] is one.
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
	LastSuccess() (time.Time, error)
	SetLastSuccess(at time.Time) error
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
	attempts           = 3 // tries of one request within a poll
	firstBackoff       = 250 * time.Millisecond
	pollGap            = time.Second     // between the end of a poll and the start of the next
	accessEvery        = 5 * time.Minute // search itself remembers access rights that long
	acceptAbsenceAfter = 5 * time.Minute // how long an unconfirmed absence must last until it is accepted
	reviewEvery        = time.Minute     // how often search is queried for the held objects of a cluster
	staleAfter         = 3               // intervals without an answer until data is marked stale
)

// Poller keeps the intermediate reports. Its fields are set before Start.
type Poller struct {
	Search  Searcher
	Fleet   Fleet
	Files   Files
	Log     logr.Logger
	Options Options

	mu       sync.Mutex                   // guards what two batches may change at once
	known    map[string]translate.Cluster // by managed cluster
	readAt   map[string]time.Time         // when a cluster's answer was last good
	bare     map[string]time.Time         // since when a cluster's first answers look as if relations failed
	reviewed map[string]time.Time         // when the held objects of a cluster were last queried
	dirty    map[intermediate.Key]bool    // reports that may differ from their files
	answers  map[string]*answer           // by managed cluster: what is known of it comes from
	suspects map[string]*suspect          // clusters that are asked about in smaller batches
	budget   budget                       // what the clusters may take and take
	unread   unread
	outcome  outcome // of this poll

	rows          map[intermediate.Key]bool        // ApplicationSets with Applications; nil: not counted yet
	written       map[intermediate.Key]fingerprint // what the files hold
	files         files
	late          map[intermediate.Key]bool // reports that could not be written in this poll
	reached       bool                      // search has answered since the start
	failingKind   string                    // the kind of failure that was last logged
	loggedOdd     string                    // the odd rows last logged
	loggedLeftOut string                    // the clusters last logged for what does not fit
	seen          map[string]bool           // clusters that search shows the account; nil: cannot be told
	accessAt      time.Time                 // when seen was last asked for
	accessError   error                     // set while the account sees nothing
	loggedAdvice  string                    // the advice about access last logged
}

// outcome is the result of one poll.
type outcome struct {
	started  time.Time
	objects  bool            // some answer had objects
	answered map[string]bool // clusters with a good answer
	good     int             // answers to batches
	bad      int             // failed requests for batches
	odd      []string        // rows left out, the first few
	oddRows  int
	err      error // the first failure that is one of search as a whole
	first    error // the first failure of any request for a batch
	held     []string
}

// NeedLeaderElection is false: the files belong to the pod.
func (p *Poller) NeedLeaderElection() bool { return false }

// Start polls until ctx ends. Polls never overlap.
func (p *Poller) Start(ctx context.Context) error {
	p.restore()
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

// pause is the time to the next poll, a tenth of it random, so that the pods of a
// fleet of hubs do not ask in step.
func (p *Poller) pause() time.Duration {
	d := p.Options.Interval
	if p.absent() {
		d = p.Options.ProbeInterval
	}
	return d - wait.Jitter(d/30, 2)
}

// poll asks for everything once and writes what has changed.
func (p *Poller) poll(ctx context.Context) {
	started := time.Now()
	view, err := p.Fleet.View(ctx)
	if err != nil {
		p.logFailure(err) // the hub cannot be read: nothing is concluded from that
		return
	}
	p.forget(view.Clusters)
	p.unread.begin(view.Clusters)
	p.outcome = outcome{started: started, answered: map[string]bool{}}
	p.budget.raise(p)
	err = p.readSearch(ctx, view, started.Add(p.Options.Interval))
	if ctx.Err() != nil {
		return // stopping: half a poll says nothing about search
	}
	p.markStale()
	err = errors.Join(err, p.publish(view))
	p.logFailure(err)
	p.logOdd()
	p.updateMetrics(view)
	pollSeconds.Observe(time.Since(started).Seconds())
	if err == nil {
		p.recordSuccess(started)
	}
}

// recordSuccess stores when a poll last succeeded, across restarts of the container.
func (p *Poller) recordSuccess(at time.Time) {
	lastSuccess.Set(float64(at.Unix()))
	if err := p.Files.SetLastSuccess(at); err != nil {
		failures.WithLabelValues("write").Inc()
		p.Log.V(1).Info("cannot store the time of the last successful poll", "error", err.Error())
	}
}

// readSearch reads every cluster that has pulled Applications, had some or was never read.
// The error is the first failure of search as a whole; what did not fail is taken
// over all the same.
func (p *Poller) readSearch(ctx context.Context, view fleet.View, until time.Time) error {
	var have []string
	err := p.retry(ctx, until, attempts, func() (err error) { have, err = p.Search.ClustersWithApplications(ctx); return err })
	if err != nil {
		return err
	}
	p.reached = true
	accessError := p.checkAccess(ctx, view, len(have) > 0, until)
	missing := p.readAll(ctx, p.targets(view.Clusters, have), until)
	p.verify(ctx, view, missing, until)
	p.reviewHeld(ctx, until)
	p.updateSuspects()
	switch {
	case p.outcome.err != nil:
		return errors.Join(accessError, p.outcome.err)
	case p.outcome.good == 0:
		return errors.Join(accessError, p.outcome.first)
	}
	return errors.Join(accessError, p.checkRelations())
}

// checkRelations returns an error when no answer has shown any object although there
// have been some: then it is not the Applications that have none.
func (p *Poller) checkRelations() error {
	if p.outcome.objects || p.outcome.good == 0 {
		return nil
	}
	lacking := len(p.bare)
	for _, state := range p.known {
		if held, _ := translate.Held(state.Applications); len(held.Resources) > 0 {
			lacking++
		}
	}
	if lacking == 0 {
		return nil
	}
	failures.WithLabelValues(string(search.KindIncomplete)).Inc()
	return &search.Error{Kind: search.KindIncomplete, Detail: fmt.Sprintf(
		"search returned no resource of any Application on %d clusters that should have some: its query for relations fails, or fine-grained RBAC does not grant the account the deployed kinds", lacking)}
}

// targets are the clusters to ask about: those that exist and have Applications, are
// known to have had some, or may have some as far as can be told. One that search
// does not show has nothing to tell as long as it is not even said to have some.
func (p *Poller) targets(exist, have []string) []string {
	has := make(map[string]bool, len(have))
	for _, c := range have {
		has[c] = true
	}
	var out []string
	for _, c := range exist {
		_, known := p.known[c]
		if has[c] || known || p.unread.process[c] && (p.seen == nil || p.seen[c]) {
			out = append(out, c)
		}
	}
	return out
}

// markStale dates what is known of clusters whose last good answer is some polls old.
// A failure now and then is no reason to write every report twice.
func (p *Poller) markStale() {
	grace := staleAfter * p.Options.Interval
	var dated []string
	for c, state := range p.known {
		at := p.readAt[c]
		if state.StaleSince != nil || !at.Before(p.outcome.started) || p.outcome.started.Sub(at) < grace {
			continue
		}
		since := at.UTC().Truncate(time.Second)
		state.StaleSince = &since
		p.known[c] = state
		p.markDirty(state.Applications)
		dated = append(dated, c)
	}
	if len(dated) > 0 {
		slices.Sort(dated)
		p.Log.Info("search has not answered for managed clusters for several polls; reports keep their data and show since when it is stale", "clusters", names(dated))
	}
}
