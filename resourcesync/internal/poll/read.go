// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
)

// suspects are the clusters whose answer lacks something, and what was answered.
type suspects struct {
	mu       sync.Mutex
	clusters map[string][]translate.Application
	err      error // the first failure of a batch
}

func (s *suspects) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// readAll reads every batch, two at a time.
func (p *Poller) readAll(ctx context.Context, batches [][]string, until time.Time) *suspects {
	found := &suspects{clusters: map[string][]translate.Application{}}
	each(batches, func(batch []string) {
		p.read(ctx, batch, until, func(batch []string, r reply) { p.take(batch, r, found) }, found.fail)
	})
	return found
}

// take accepts an answer for the clusters of which it lacks nothing.
func (p *Poller) take(batch []string, r reply, found *suspects) {
	whole := true
	for _, c := range batch {
		if l := p.lost(c, r.apps[c]); l.none() {
			p.accept(c, r.apps[c], r.asked)
			continue
		}
		whole = false
		p.mu.Lock()
		p.unremember(c)
		p.mu.Unlock()
		found.mu.Lock()
		found.clusters[c] = r.apps[c]
		found.mu.Unlock()
	}
	if whole {
		p.remember(answer{clusters: batch, digest: r.digest, objects: r.objects})
	}
}

// reply is a decoded answer about a batch.
type reply struct {
	apps    map[string][]translate.Application // by cluster
	asked   time.Time
	digest  search.Digest // zero when anything about it was odd
	objects bool          // it had relations
}

// read asks for one batch, in halves when the answer would be too large, and hands
// the answer over unless it is known already. Clusters that could not be read are
// distrusted.
func (p *Poller) read(ctx context.Context, batch []string, until time.Time, take func([]string, reply), fail func(error)) {
	var r *search.Result
	var asked time.Time
	last := p.last(batch)
	err := p.try(ctx, until, func() (err error) {
		asked = time.Now()
		r, err = p.Search.Applications(ctx, batch, last.digest)
		return err
	})
	if search.KindOf(err) == search.KindTooLarge && len(batch) > 1 {
		p.read(ctx, batch[:len(batch)/2], until, take, fail)
		p.read(ctx, batch[len(batch)/2:], until, take, fail)
		return
	}
	switch {
	case err != nil:
		p.distrust(batch)
		fail(fmt.Errorf("read %d clusters from %s on: %w", len(batch), batch[0], err))
	case r.Unchanged:
		p.repeated(last, asked)
	default:
		take(batch, p.decoded(r, asked))
	}
}

// decoded translates an answer.
func (p *Poller) decoded(r *search.Result, asked time.Time) reply {
	apps, odd := translate.Clusters(r)
	out := reply{apps: apps, asked: asked, digest: r.Digest, objects: len(r.Related) > 0}
	if odd = append(odd, r.Odd...); len(odd) > 0 {
		p.odd(odd)
		out.digest = search.Digest{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects = p.objects || out.objects
	return out
}

// lost compares an answer with what is known.
func (p *Poller) lost(cluster string, fresh []translate.Application) loss {
	p.mu.Lock()
	defer p.mu.Unlock()
	return lost(p.known[cluster].Applications, fresh)
}

// try repeats a request that may succeed a moment later, with growing and random
// pauses, while the interval lasts.
func (p *Poller) try(ctx context.Context, until time.Time, request func() error) error {
	backoff := firstBackoff
	for n := 1; ; n++ {
		err := request()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			failures.WithLabelValues(string(search.KindOf(err))).Inc()
		}
		pause := jitter(backoff)
		if n == attempts || !search.Transient(err) || time.Now().Add(pause).After(until) || !sleep(ctx, pause) {
			return err
		}
		backoff *= 2
	}
}

// jitter returns a time between half and one and a half of d.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d+1) //nolint:gosec // it spreads requests, it protects nothing
}

// each calls work for every element, two at a time.
func each[T any](list []T, work func(T)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, inFlight)
	for _, e := range list {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			work(e)
		})
	}
	group.Wait()
}

// sleep reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
