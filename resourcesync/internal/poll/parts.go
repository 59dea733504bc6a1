// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// Searcher queries search. [search.Client] implements it.
type Searcher interface {
	ClustersWithApplications(ctx context.Context) ([]string, error)
	Applications(ctx context.Context, clusters []string, last search.Digest) (*search.Result, error)
	Clusters(ctx context.Context) (*search.Result, error)
}

// Fleet lists clusters and ApplicationSets of the hub. [fleet.Reader] implements it.
type Fleet interface {
	View(ctx context.Context) (fleet.View, error)
}

// Options are the times and sizes of a [Poller].
type Options struct {
	// Interval is the time from the start of one poll to the start of the next.
	Interval time.Duration
	// BatchSize is the largest number of clusters in one request.
	BatchSize int
}

// Poller keeps the intermediate reports. Its exported fields are set before Start.
type Poller struct {
	Search  Searcher
	Fleet   Fleet
	Files   Files
	Log     logr.Logger
	Options Options

	mu      sync.Mutex // protects the fields below
	state   *state
	access  access
	reports *reports
	round   *round
	changes changes
	reached bool // search has answered since the start
	apart   *apart
	slots   chan struct{} // one for each request under way
}

// subjectFailure is the subject of the kind of the last poll's failure.
const subjectFailure = "failure"

// absent reports whether search has never been there.
func (p *Poller) absent() bool {
	kind := p.changes[subjectFailure]
	return !p.reached && (kind == string(search.KindAbsent) || kind == string(search.KindUnreachable))
}

// publish writes the reports. The caller holds mu.
func (p *Poller) publish() error {
	p.round.published = time.Now()
	return p.reports.publish(p.state, p.round.view.Sets, p.unread())
}

// unread returns the clusters that this run has not read and that may yet be read, sorted.
// The caller holds mu.
func (p *Poller) unread() []string {
	unread := []string{}
	lists := len(p.access.seen) > 0 && !p.access.denied
	for c, st := range p.state.clusters {
		// A cluster that search does not show, while it shows others, will not be read. It may be
		// hidden on purpose. Its part of an old report must not stay forever.
		if st.unread && (!lists || p.access.shows(c)) {
			unread = append(unread, c)
		}
	}
	slices.Sort(unread)
	return unread
}

// round is one poll.
type round struct {
	started   time.Time
	published time.Time // when the reports were last written
	view      fleet.View
	good      int        // answers
	bad       int        // batches without one
	alone     int        // clusters that failed alone at the first time
	skipped   [][]string // batches that were not requested: nothing had been answered
	odd       []string   // rows left out, the first few
	oddRows   int
	err       error // the first failure that is one of search as a whole
	first     error // the first failure of any batch
}

// fail records a failed batch.
func (r *round) fail(clusters []string, err error) {
	r.bad++
	wrapped := fmt.Errorf("read %d clusters from %s on: %w", len(clusters), clusters[0], err)
	if r.err == nil && !divisible(err) {
		r.err = wrapped
	}
	if r.first == nil {
		r.first = wrapped
	}
}

// addOdd records rows that were left out.
func (r *round) addOdd(rows []string) {
	r.oddRows += len(rows)
	if room := maxNamed - len(r.odd); room > 0 {
		r.odd = append(r.odd, rows[:min(room, len(rows))]...)
	}
}

// maxNamed is how many odd rows are named: enough to find the fault.
const maxNamed = 20
