// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

const (
	attempts     = 3 // tries of one request within a poll
	firstBackoff = 250 * time.Millisecond
	inFlight     = 2                // requests at once, because more make the server slower, not the poll faster
	deadline     = 15 * time.Second // of a request but for those for one cluster
	// giveUpAfter is how many batches may fail in a poll before the first good answer.
	giveUpAfter = 4
)

// readAll reads clusters in batches. The clusters of a batch that fails are requested
// alone, and the poll waits for the first of these requests.
func (p *Poller) readAll(ctx context.Context, clusters []string) error {
	p.mu.Lock()
	r := p.round
	batches := p.state.batches(clusters, p.Options.BatchSize)
	p.mu.Unlock()
	forEach(batches, inFlight, func(b []string) { p.readBatch(ctx, b) })
	p.apart.firsts.Wait()
	p.mu.Lock()
	if batches = nil; r.good > 0 { // else it makes no sense to request the rest
		batches = r.skipped
	}
	p.mu.Unlock()
	forEach(batches, inFlight, func(b []string) { p.readBatch(ctx, b) })
	p.apart.firsts.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.good == 0 && r.first != nil { // it is search that fails
		p.apart.clear()
		return r.first
	}
	return r.err
}

// readBatch reads one batch.
func (p *Poller) readBatch(ctx context.Context, clusters []string) {
	p.mu.Lock()
	if p.round.good == 0 && p.round.bad >= giveUpAfter {
		p.round.skipped = append(p.round.skipped, clusters)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	_, err := p.request(ctx, clusters, deadline, attempts)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.round.fail(clusters, err)
		if divisible(err) {
			p.apart.add(clusters)
		}
	}
	p.publishNow()
}

// publishNow writes the data that was read so far when a poll takes long. The caller holds mu.
func (p *Poller) publishNow() {
	if time.Since(p.round.published) >= p.Options.Interval {
		_ = p.publish() // a failed write is tried again, and reported, at the end of the poll
	}
}

// request requests some clusters and takes the answer over.
func (p *Poller) request(ctx context.Context, clusters []string, deadline time.Duration, tries int) (latency time.Duration, err error) {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	p.mu.Lock()
	last := p.state.lastAnswer(clusters)
	p.mu.Unlock()
	var r *search.Result
	var answer reply
	err = p.retry(ctx, deadline, tries, func(ctx context.Context) (err error) {
		answer.requested = time.Now()
		if r, err = p.Search.Applications(ctx, clusters, last.digest); err != nil || r.Unchanged {
			return err
		}
		if r, err = p.checkRelated(ctx, clusters, r); err != nil {
			return err
		}
		apps, odd := translate.Clusters(r)
		r.Odd = append(odd, r.Odd...)
		answer.apps = apps
		if answer.digest = r.Digest; len(r.Odd) > 0 || len(r.Related) == 0 {
			answer.digest = search.Digest{}
		}
		return nil
	})
	latency = time.Since(answer.requested)
	if err != nil || ctx.Err() != nil {
		return latency, err
	}
	answer.latency = latency
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Unchanged {
		p.state.confirm(last, answer.requested, latency)
	} else {
		p.round.addOdd(r.Odd)
		empty := p.state.apply(clusters, answer, func(c string) bool { return !p.access.at.Before(p.round.started) && p.access.seen[c] })
		p.access.wanted = p.access.wanted || empty
	}
	p.round.good++
	return latency, nil
}

// checkRelated returns an answer that may be taken over. Search also answers without any
// related row when its query for relations fails. An answer like that, by which resources
// would go, is requested again together with a witness: a cluster that has resources.
func (p *Poller) checkRelated(ctx context.Context, clusters []string, r *search.Result) (*search.Result, error) {
	if len(r.Related) > 0 || len(r.Items) == 0 {
		return r, nil
	}
	apps, _ := translate.Clusters(r)
	p.mu.Lock()
	loses, witness := p.state.loses(clusters, apps), p.state.witness(clusters)
	p.mu.Unlock()
	if !loses {
		return r, nil
	}
	if witness != "" {
		again, err := p.Search.Applications(ctx, append(slices.Clone(clusters), witness), search.Digest{})
		if err != nil {
			return nil, err
		}
		if len(again.Related) > 0 {
			again.Digest = search.Digest{} // it belongs to another request
			return again, nil
		}
	}
	return nil, &search.Error{Kind: search.KindIncomplete, Detail: fmt.Sprintf("no resource of any of %d Applications: the query for relations fails, "+
		"fine-grained RBAC does not grant the account the deployed kinds, or no Application has an object any more", len(r.Items))}
}

// retry repeats a request that may succeed a moment later, with growing and random
// pauses, while the interval lasts. Each try has a deadline.
func (p *Poller) retry(ctx context.Context, deadline time.Duration, tries int, request func(context.Context) error) error {
	backoff := wait.Backoff{Duration: firstBackoff / 2, Factor: 2, Jitter: 2, Steps: tries} // half to one and a half of firstBackoff
	p.mu.Lock()
	until := p.round.started.Add(p.Options.Interval)
	p.mu.Unlock()
	for n := 1; ; n++ {
		err := within(ctx, deadline, request)
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

func within(ctx context.Context, deadline time.Duration, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	return request(ctx)
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
