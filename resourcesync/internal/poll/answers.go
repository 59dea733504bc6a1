// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// answer is one about a batch that was taken over as a whole: what is known of
// each of the clusters is what it says and what is held beside it, and there was
// nothing odd about it. The same answer once more would change nothing but the time
// when it was last true.
type answer struct {
	clusters []string
	digest   search.Digest
	objects  bool // it had relations
}

// lastAnswer returns the answer that all of what is known of a batch comes from, or the
// zero one when there is no such answer: another batch, a second read or a doubt
// has had its say about one of the clusters since.
func (p *Poller) lastAnswer(batch []string) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.answers[batch[0]]
	if a == nil || !slices.Equal(a.clusters, batch) {
		return answer{}
	}
	for _, c := range batch {
		if p.answers[c] != a {
			return answer{}
		}
	}
	return *a
}

// acceptUnchanged does what accepting the same answer again would do: what it left out is
// held already.
func (p *Poller) acceptUnchanged(a answer, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.objects = p.outcome.objects || a.objects
	for _, c := range a.clusters {
		p.outcome.answered[c] = true
		state, known := p.known[c]
		if !known {
			continue
		}
		p.readAt[c] = now
		if state.StaleSince != nil {
			state.StaleSince = nil
			p.known[c] = state
			p.markDirty(state.Applications)
		}
	}
}

// recordAnswer keeps the digest of an answer that has been accepted for each of its
// clusters, so that it need not be decoded again. Whatever is done to a cluster
// afterwards forgets it, see [Poller.forgetAnswerLocked].
func (p *Poller) recordAnswer(a answer) {
	if a.digest == (search.Digest{}) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range a.clusters {
		p.answers[c] = &a
	}
}

// forgetAnswerLocked makes sure that the next answer about a cluster is decoded and judged.
// It comes with every change of what is known of it; The caller holds mu.
func (p *Poller) forgetAnswerLocked(cluster string) { delete(p.answers, cluster) }
