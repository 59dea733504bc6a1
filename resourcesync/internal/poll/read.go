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
	inFlight     = 2 // requests at once; more make the server slower, not the poll faster
	// giveUpAfter is how many batches may fail in a poll before the first good answer.
	giveUpAfter = 4
	// probes is how many single clusters are requested when no batch was answered.
	probes = 3
)

// readAll reads clusters in batches: two requests at a time, and one as long as nothing
// is known of what the answers weigh, or while others are requested apart.
func (p *Poller) readAll(ctx context.Context, clusters []string) {
	p.mu.Lock()
	batches := p.state.batches(clusters, p.Options.BatchSize)
	most := inFlight
	if p.apart {
		most--
	}
	p.mu.Unlock()
	known := 0
	for known < len(batches) && batches[known].known {
		known++
	}
	forEach(batches[:known], most, func(b batch) { p.readBatch(ctx, b.clusters) })
	forEach(batches[known:], 1, func(b batch) { p.readBatch(ctx, b.clusters) })
}

// readBatch reads one batch, and writes what has been read when the poll takes long.
func (p *Poller) readBatch(ctx context.Context, clusters []string) {
	p.mu.Lock()
	giveUp := p.round.good == 0 && p.round.bad >= giveUpAfter
	p.mu.Unlock()
	if giveUp || ctx.Err() != nil {
		return
	}
	latency, err := p.request(ctx, clusters, attempts)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.round.good++
		if latency > p.Options.Interval {
			p.round.slow = append(p.round.slow, clusters)
		}
	} else {
		p.round.fail(clusters, err)
	}
	if time.Since(p.round.published) >= p.Options.Interval {
		_ = p.publish() // what fails is tried again, and reported, at the end of the poll
	}
}

// concludeBatches decides whether it is search that fails or some clusters, when batches
// have failed: search fails when it does not answer for single clusters either. Clusters
// of failed batches are requested apart then.
func (p *Poller) concludeBatches(ctx context.Context) error {
	p.mu.Lock()
	r := p.round
	alone := r.probes()
	p.mu.Unlock()
	answered := len(alone) == 0
	for _, c := range alone {
		_, err := p.request(ctx, []string{c}, 1)
		if err == nil || search.KindOf(err) == search.KindTooLarge || ctx.Err() != nil {
			answered = true
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !answered {
		r.outage = true
		return r.first
	}
	now := time.Now()
	for _, f := range r.failed {
		p.state.setApart(f.clusters, now)
		if len(f.clusters) == 1 {
			p.failAlone(f.clusters[0], f.err, now)
		}
	}
	for _, clusters := range r.slow {
		switch batches := r.good + r.bad; {
		case 2*len(r.slow) <= batches:
			p.state.setSlow(clusters, now)
		case batches == 1 && len(clusters) > 1:
			p.state.halve(clusters, now)
		} // else it is search that is slow
	}
	if r.good == 0 && len(r.failed) == 0 {
		return r.first
	}
	return r.err
}

// probes returns single clusters of the batches that failed, when none was answered.
func (r *round) probes() (out []string) {
	if r.good > 0 || len(r.failed) == 0 {
		return nil
	}
	for i := range probes {
		b := r.failed[i*len(r.failed)/probes].clusters
		out = append(out, b[i*len(b)/probes])
	}
	return out
}

// readApart requests the clusters whose batches failed or were slow, one batch after the
// other and concurrently with the polls, which do not wait for it.
func (p *Poller) readApart(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.apart || p.round.outage || p.state.nextApart(p.Options.BatchSize, time.Now()) == nil {
		return
	}
	p.apart = true
	go func() {
		for p.readNextApart(ctx) {
		}
	}()
}

// readNextApart reads one batch, and returns whether there may be another one.
func (p *Poller) readNextApart(ctx context.Context) bool {
	p.mu.Lock()
	clusters := p.state.nextApart(p.Options.BatchSize, time.Now())
	if len(clusters) == 0 || p.round.outage || ctx.Err() != nil {
		p.apart = false
		if ctx.Err() == nil {
			_ = p.publish() // what fails is tried again, and reported, with the next poll
		}
		p.mu.Unlock()
		return false
	}
	p.mu.Unlock()
	latency, err := p.request(ctx, clusters, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch {
	case ctx.Err() != nil:
	case err == nil && latency > p.Options.Interval:
		p.state.setSlow(clusters, now)
	case err == nil:
	case len(clusters) > 1 && divisible(err):
		p.state.setApart(clusters, now)
	default:
		for _, c := range clusters {
			p.failAlone(c, err, now)
		}
	}
	return true
}

// failAlone records that a cluster cannot be read even alone. That is no failure of
// search. The caller holds mu.
func (p *Poller) failAlone(cluster string, err error, now time.Time) {
	p.state.setFailed(cluster, now)
	if st := p.state.clusters[cluster]; st != nil && !st.logged && divisible(err) {
		st.logged = true
		p.Log.Error(err, "cannot read a managed cluster from search; reports keep its data and show since when it is stale, and search is queried for it less often", "cluster", cluster, "remedy", remedy(err))
	}
}

// remedy is what helps a cluster that cannot be read.
func remedy(err error) string {
	if search.KindOf(err) == search.KindTooLarge {
		return "raise --search-max-answer and the container's memory limit with it, or reduce the objects of the Applications there"
	}
	return "see the log of search-api and the search collector add-on of that cluster"
}

// request requests one batch and takes the answer over.
func (p *Poller) request(ctx context.Context, clusters []string, tries int) (latency time.Duration, err error) {
	p.mu.Lock()
	last := p.state.lastAnswer(clusters)
	p.mu.Unlock()
	var r *search.Result
	var answer reply
	err = p.retry(ctx, tries, func() (err error) {
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
	p.state.setAnswered(clusters, p.Options.BatchSize, time.Now())
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
			again.Digest = search.Digest{} // it is that of another request
			return again, nil
		}
	}
	return nil, &search.Error{Kind: search.KindIncomplete, Detail: fmt.Sprintf("no resource of any of %d Applications: the query for relations fails, "+
		"or fine-grained RBAC does not grant the account the deployed kinds", len(r.Items))}
}

// retry repeats a request that may succeed a moment later, with growing and random
// pauses, while the interval lasts.
func (p *Poller) retry(ctx context.Context, tries int, request func() error) error {
	backoff := wait.Backoff{Duration: firstBackoff / 2, Factor: 2, Jitter: 2, Steps: tries} // half to one and a half of firstBackoff
	p.mu.Lock()
	until := p.round.started.Add(p.Options.Interval)
	p.mu.Unlock()
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
