// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// forget drops the clusters that do not exist any more.
func (p *Poller) forget(exist []string) {
	there := make(map[string]bool, len(exist))
	for _, c := range exist {
		there[c] = true
	}
	for c, state := range p.known {
		if !there[c] {
			p.markDirty(state.Applications)
			delete(p.known, c)
			p.budget.set(c, nil, translate.Cut{})
		}
	}
	forget(p.readAt, there)
	forget(p.bare, there)
	forget(p.reviewed, there)
	forget(p.answers, there)
	forget(p.suspects, there)
	p.unread.forget(there)
}

func forget[T any](m map[string]T, there map[string]bool) {
	maps.DeleteFunc(m, func(c string, _ T) bool { return !there[c] })
}

// accept takes the Applications of a cluster over as what is known of it.
func (p *Poller) accept(cluster string, fresh []translate.Application, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome.answered[cluster] = true
	p.unread.done(cluster)
	delete(p.bare, cluster)
	p.replaceLocked(cluster, fresh, now)
}

// replaceLocked changes what is known of a cluster. The caller holds mu.
func (p *Poller) replaceLocked(cluster string, fresh []translate.Application, now time.Time) {
	p.forgetAnswerLocked(cluster)
	before, known := p.known[cluster]
	if len(fresh) == 0 {
		p.markDirty(before.Applications)
		delete(p.known, cluster)
		delete(p.readAt, cluster)
		p.budget.set(cluster, nil, translate.Cut{})
		return
	}
	p.readAt[cluster] = now
	fresh, cut := translate.Limit(cluster, fresh, p.budget.level)
	if !known || before.StaleSince != nil || !equal(before.Applications, fresh) {
		p.markDirty(before.Applications)
		p.markDirty(fresh)
		p.known[cluster] = translate.Cluster{Applications: fresh}
	}
	p.budget.set(cluster, fresh, cut)
	if p.budget.total > p.budget.limit {
		p.budget.lowerLocked(p)
	}
}

func (p *Poller) markDirty(apps []translate.Application) {
	for i := range apps {
		p.dirty[apps[i].Set] = true
	}
}

func equal(a, b []translate.Application) bool {
	return slices.EqualFunc(a, b, func(x, y translate.Application) bool {
		return x.Compare(&y) == 0 && x.Bare == y.Bare && x.AbsentSince.Equal(y.AbsentSince) &&
			slices.Equal(x.Resources, y.Resources) && slices.Equal(x.Conditions, y.Conditions) &&
			slices.EqualFunc(x.Held, y.Held, func(h, k intermediate.HeldResource) bool { return h.Resource == k.Resource && h.Since.Equal(k.Since) })
	})
}

// unread is which clusters have not been read, and which reports nevertheless speak
// for them, since an earlier run had read them when it wrote the reports.
type unread struct {
	// process are the clusters that this run has not read; nil: before its first poll.
	process map[string]bool
	// restored are, by report of an earlier run, the clusters that it had not read.
	restored map[intermediate.Key]map[string]bool
	// changed is true when a cluster has been read since reports were last compared.
	changed bool
}

// begin records the fleet at the first poll. A cluster that joins later had nothing
// that an earlier run could have read.
func (u *unread) begin(clusters []string) {
	if u.process != nil {
		return
	}
	u.process = make(map[string]bool, len(clusters))
	for _, c := range clusters {
		u.process[c] = true
	}
}

func (u *unread) done(cluster string) {
	if u.process[cluster] {
		delete(u.process, cluster)
		u.changed = true
	}
}

func (u *unread) forget(there map[string]bool) {
	for c := range u.process {
		if !there[c] {
			u.done(c)
		}
	}
}

// of returns the clusters that a report does not speak for, sorted.
func (u *unread) of(k intermediate.Key) []string {
	var out []string
	restored, is := u.restored[k]
	for c := range u.process {
		if !is || restored[c] {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}

// everywhere are the clusters that some report may not speak for.
func (u *unread) everywhere(written map[intermediate.Key]fingerprint) map[string]bool {
	if len(written) == 0 {
		return u.process
	}
	out := map[string]bool{}
	for k := range written {
		restored, is := u.restored[k]
		if !is {
			return u.process
		}
		for c := range restored {
			if u.process[c] {
				out[c] = true
			}
		}
	}
	return out
}
