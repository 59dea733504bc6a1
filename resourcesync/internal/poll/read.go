// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// missing are the clusters whose answer leaves out something that was there before,
// or looks as if it did, and what was answered.
type missing struct {
	mu       sync.Mutex
	clusters map[string]reading
}

// reading is an answer about one cluster and when it was asked for.
type reading struct {
	apps []translate.Application
	at   time.Time
}

// readAll reads the clusters: two requests at a time, and one as long as nothing is
// known of what the answers weigh.
func (p *Poller) readAll(ctx context.Context, clusters []string, until time.Time) *missing {
	found := &missing{clusters: map[string]reading{}}
	batches := p.batches(clusters, time.Now())
	known := 0
	for known < len(batches) && batches[known].known {
		known++
	}
	read := func(b batch) {
		p.readBatch(ctx, b.clusters, until, func(clusters []string, r reply) { p.acceptReply(clusters, r, found) })
	}
	forEach(batches[:known], inFlight, read)
	forEach(batches[known:], 1, read)
	return found
}

// acceptReply accepts an answer for the clusters of which it leaves nothing out.
func (p *Poller) acceptReply(clusters []string, r reply, found *missing) {
	whole := true
	for _, c := range clusters {
		fresh := r.apps[c]
		switch p.doubt(c, fresh) {
		case nothing:
			p.mu.Lock()
			known := p.known[c].Applications
			p.mu.Unlock()
			gone := translate.Absence{Applications: stillAbsent(known, fresh)}
			p.accept(c, translate.Merge(known, fresh, gone, r.asked.UTC().Truncate(time.Second)), r.asked)
		case absence:
			whole = false
			found.mu.Lock()
			found.clusters[c] = reading{apps: fresh, at: r.asked}
			found.mu.Unlock()
			p.mu.Lock()
			p.forgetAnswerLocked(c)
			p.mu.Unlock()
		case silence:
			whole = false
		}
	}
	if whole {
		p.recordAnswer(answer{clusters: clusters, digest: r.digest, objects: r.objects})
	}
}

// doubts about an answer.
type doubt int

const (
	nothing doubt = iota // all that was there before is there
	absence              // something is not, or the answer looks as if relations failed
	silence              // it may be empty only because the account does not see the cluster
)

func (p *Poller) doubt(cluster string, fresh []translate.Application) doubt {
	p.mu.Lock()
	defer p.mu.Unlock()
	state, known := p.known[cluster]
	switch {
	case known && len(fresh) == 0:
		return absence
	case known && !translate.Absent(state.Applications, fresh).Empty():
		return absence
	case known:
		return nothing
	case !p.unread.process[cluster]:
		return nothing
	case len(fresh) == 0 && !p.seen[cluster]:
		return silence
	case lacksRelations(fresh):
		return absence
	}
	return nothing
}

// lacksRelations reports whether a first answer about a cluster shows no object at all
// where there should be some: a failed statement for relations looks like that.
func lacksRelations(apps []translate.Application) bool {
	bare := false
	for i := range apps {
		if len(apps[i].Resources) > 0 {
			return false
		}
		bare = bare || apps[i].Bare
	}
	return bare
}

// reply is a decoded answer about a batch.
type reply struct {
	apps    map[string][]translate.Application // by cluster
	asked   time.Time
	digest  search.Digest // zero when anything about it was odd
	objects bool          // it had relations
}

// readBatch asks for one batch and hands the answer over unless it is known already. A
// batch that fails is asked for in halves, now if there is time, else from the next
// poll on.
func (p *Poller) readBatch(ctx context.Context, clusters []string, until time.Time, take func([]string, reply)) {
	if p.givenUp() || ctx.Err() != nil {
		return
	}
	var r *search.Result
	var asked time.Time
	last := p.lastAnswer(clusters)
	tries := attempts
	if len(clusters) == 1 && p.failedAlone(clusters[0]) {
		tries = 1
	}
	err := p.retry(ctx, until, tries, func() (err error) {
		asked = time.Now()
		r, err = p.Search.Applications(ctx, clusters, last.digest)
		return err
	})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		n := len(clusters)
		halve := n > 1 && divisible(err) && (time.Now().Before(until) || search.KindOf(err) == search.KindTooLarge)
		p.recordFailure(clusters, err, halve)
		if halve {
			p.readBatch(ctx, clusters[:n/2], until, take)
			p.readBatch(ctx, clusters[n/2:], until, take)
		}
		return
	}
	p.mu.Lock()
	p.outcome.good++
	p.mu.Unlock()
	if r.Unchanged {
		p.acceptUnchanged(last, asked)
		return
	}
	take(clusters, p.decoded(r, asked))
}

// recordFailure records a failed request. A single cluster that cannot be read is no failure
// of search, unless nothing else can be read either, and a batch that is halved
// leaves it to its halves.
func (p *Poller) recordFailure(clusters []string, err error, halved bool) {
	if divisible(err) {
		p.markSuspects(clusters, time.Now())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.bad++
	err = fmt.Errorf("read %d clusters from %s on: %w", len(clusters), clusters[0], err)
	if p.outcome.first == nil {
		p.outcome.first = err
	}
	switch {
	case len(clusters) == 1 && divisible(err):
		if s := p.suspects[clusters[0]]; !s.logged {
			s.logged = true
			p.Log.Error(err, "cannot read a managed cluster from search; reports keep its data and show since when it is stale, and search is queried for it less often", "cluster", clusters[0], "remedy", remedy(err))
		}
	case !halved && p.outcome.err == nil:
		p.outcome.err = err
	}
}

// remedy is what helps a cluster that cannot be read.
func remedy(err error) string {
	if search.KindOf(err) == search.KindTooLarge {
		return "raise --search-max-answer and the container's memory limit with it, or reduce the objects of the Applications there"
	}
	return "see the log of search-api and the search collector add-on of that cluster"
}

func (p *Poller) failedAlone(cluster string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.suspects[cluster]
	return s != nil && s.failures > 0
}

// decoded translates an answer.
func (p *Poller) decoded(r *search.Result, asked time.Time) reply {
	apps, odd := translate.Clusters(r)
	out := reply{apps: apps, asked: asked, digest: r.Digest, objects: len(r.Related) > 0}
	odd = append(odd, r.Odd...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(odd) > 0 {
		p.addOddLocked(odd)
		out.digest = search.Digest{}
	}
	p.outcome.objects = p.outcome.objects || out.objects
	return out
}

// retry repeats a request that may succeed a moment later, with growing and random
// pauses, while the interval lasts.
func (p *Poller) retry(ctx context.Context, until time.Time, tries int, request func() error) error {
	backoff := wait.Backoff{Duration: firstBackoff / 2, Factor: 2, Jitter: 2, Steps: tries} // half to one and a half of firstBackoff
	for n := 1; ; n++ {
		err := request()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			failures.WithLabelValues(string(search.KindOf(err))).Inc()
		}
		pause := backoff.Step()
		if n == tries || !search.Transient(err) || time.Now().Add(pause).After(until) || !clock.Sleep(ctx, pause) {
			return err
		}
	}
}

// forEach calls work for every element, some at a time.
func forEach[T any](list []T, atOnce int, work func(T)) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, e := range list {
		group.Go(func() error { work(e); return nil })
	}
	_ = group.Wait() // work keeps its own errors
}
