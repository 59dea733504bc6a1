// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

const (
	aloneTimeout = 5 * time.Second // of the first request for a cluster alone, doubles with each failure
	mostTimeout  = 30 * time.Second
	retryAfter   = 6 // intervals at most until a cluster that fails alone is requested again
	// outageAfter is how many clusters may fail alone before the first good answer of a poll.
	outageAfter = 3
)

// apart are the clusters that are requested alone: their batch failed, and they have not given a
// valid and fast answer since then.
type apart struct {
	queue    workqueue.TypedRateLimitingInterface[string]
	clusters map[string]*alone
	firsts   sync.WaitGroup // the first requests, for which the poll waits
}

type alone struct {
	tried  bool // it was requested alone
	logged bool // that it cannot be read
}

func newApart(interval time.Duration) *apart {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](interval, retryAfter*interval)
	return &apart{queue: workqueue.NewTypedRateLimitingQueue(limiter), clusters: map[string]*alone{}}
}

// add has clusters requested alone. The caller holds the Poller's mu, as for all that follows.
func (a *apart) add(clusters []string) {
	for _, c := range clusters {
		if a.clusters[c] == nil && !a.queue.ShuttingDown() {
			a.clusters[c] = &alone{}
			a.firsts.Add(1)
			a.queue.Add(c)
		}
	}
}

// remove has a cluster requested in a batch again.
func (a *apart) remove(cluster string) {
	a.setTried(cluster)
	delete(a.clusters, cluster)
	a.queue.Forget(cluster)
}

func (a *apart) setTried(cluster string) {
	if c := a.clusters[cluster]; c != nil && !c.tried {
		c.tried = true
		a.firsts.Done()
	}
}

// clear has all clusters requested in batches again.
func (a *apart) clear() {
	for c := range a.clusters {
		a.remove(c)
	}
}

// readApart requests clusters alone, one after the other and concurrently with the polls,
// until ctx ends.
func (p *Poller) readApart(ctx context.Context, a *apart) {
	defer context.AfterFunc(ctx, a.queue.ShutDown)()
	for {
		c, stop := a.queue.Get()
		if stop {
			break
		}
		p.readAlone(ctx, c)
		a.queue.Done(c)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a.clear() // no poll waits for them
}

// readAlone requests a cluster alone. When several fail and nothing else is answered it is
// search that fails, and no cluster is to blame.
func (p *Poller) readAlone(ctx context.Context, cluster string) {
	p.mu.Lock()
	wanted := p.apart.clusters[cluster] != nil
	p.mu.Unlock()
	if !wanted {
		return // it does not exist any more, or is in a batch again
	}
	timeout := min(aloneTimeout<<min(p.apart.queue.NumRequeues(cluster), 10), mostTimeout)
	latency, err := p.request(ctx, []string{cluster}, timeout, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.apart.clusters[cluster]
	switch {
	case own == nil || ctx.Err() != nil:
	case err == nil && latency <= p.Options.Interval:
		p.apart.remove(cluster)
	case err == nil: // in a batch, the others would wait for it
		p.apart.queue.Forget(cluster)
		p.apart.queue.AddAfter(cluster, p.Options.Interval)
	default:
		p.failAlone(cluster, own, err)
		p.apart.queue.AddRateLimited(cluster)
	}
	p.apart.setTried(cluster)
	if p.round.good == 0 && p.round.alone >= outageAfter {
		p.apart.clear()
	}
	p.publishNow()
}

// failAlone records that a cluster cannot be read even alone. The caller holds mu.
func (p *Poller) failAlone(cluster string, own *alone, err error) {
	if !own.tried {
		p.round.alone++
	}
	if search.KindOf(err) == search.KindTooLarge {
		p.round.good++ // search answers
	}
	if !own.logged && divisible(err) && p.round.good > 0 {
		own.logged = true
		p.Log.Error(err, "cannot read a managed cluster from search; reports keep its data and show since when it is stale, and search is queried for it less often", "cluster", cluster, "remedy", remedy(err))
	}
}

// remedy returns the remedy for a cluster that cannot be read.
func remedy(err error) string {
	switch search.KindOf(err) {
	case search.KindTooLarge:
		return "raise --search-max-answer and the container's memory limit with it, or reduce the objects of the Applications there"
	case search.KindIncomplete, search.KindMalformed:
		return "see the log of search-api, and whether a proxy or the network cuts answers on the way to it"
	default:
		return "see the log of search-api and the search collector add-on of that cluster"
	}
}
