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
		p.read(ctx, batch, until, func(cluster string, fresh []translate.Application, now time.Time) {
			if l := p.lost(cluster, fresh); l.none() {
				p.accept(cluster, fresh, now)
				return
			}
			found.mu.Lock()
			found.clusters[cluster] = fresh
			found.mu.Unlock()
		}, found.fail)
	})
	return found
}

// read asks for one batch, in halves when the answer would be too large, and hands
// each cluster's part over. Clusters that could not be read are distrusted.
func (p *Poller) read(ctx context.Context, batch []string, until time.Time, take func(string, []translate.Application, time.Time), fail func(error)) {
	var r *search.Result
	var asked time.Time
	err := p.try(ctx, until, func() (err error) {
		asked = time.Now()
		r, err = p.Search.Applications(ctx, batch)
		return err
	})
	if search.KindOf(err) == search.KindTooLarge && len(batch) > 1 {
		p.read(ctx, batch[:len(batch)/2], until, take, fail)
		p.read(ctx, batch[len(batch)/2:], until, take, fail)
		return
	}
	if err != nil {
		p.distrust(batch)
		fail(fmt.Errorf("read %d clusters from %s on: %w", len(batch), batch[0], err))
		return
	}
	apps, odd := translate.Clusters(r)
	p.odd(append(odd, r.Odd...))
	if len(r.Related) > 0 {
		p.mu.Lock()
		p.objects = true
		p.mu.Unlock()
	}
	for _, c := range batch {
		take(c, apps[c], asked)
	}
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
