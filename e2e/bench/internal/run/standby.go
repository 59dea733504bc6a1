// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	// takeovers is how often the leaders are killed. How long it takes is partly chance: it
	// depends on when the leader last renewed and on when the standby looks next.
	takeovers = 2
	// beyondLease is how long the first work may take beyond the duration of the Lease.
	beyondLease = 5 * time.Second
	// The numbers of the two replicas of each binary, past those of the page's standbys.
	firstReplica, secondReplica = 3, 4
)

// pair is two replicas of a binary with the flags of leader election that it is shipped with.
type pair struct {
	name string
	// place is where its work for a change is seen.
	place           string
	leader, standby *env.Process
	// duration is that of the Lease.
	duration time.Duration
	// leased and worked are how long after the leader's end the standby had the Lease, and
	// its work for a change was seen.
	leased, worked []time.Duration
	// beyond are the writes that were not that work.
	beyond map[string]int
}

// standby kills the leaders of both binaries together and times how soon the standbys have done their
// work for a change of that moment. Nothing else has changed, so they ought to write nothing else.
func standby(ctx context.Context, b *bench) error {
	pairs := []*pair{
		{name: env.Propagation, place: onHub, beyond: map[string]int{}},
		{name: env.Aggregation, place: inReport, beyond: map[string]int{}},
	}
	for _, p := range pairs {
		if err := startPair(ctx, b, p); err != nil {
			return err
		}
	}
	for i := range takeovers {
		if i > 0 {
			if err := restartKilled(ctx, pairs); err != nil {
				return err
			}
		}
		if err := takeOver(ctx, b, pairs); err != nil {
			return err
		}
	}
	for _, p := range pairs {
		rowsOfTakeovers(b, p)
		if err := p.leader.Stop(ctx); err != nil {
			return err
		}
	}
	if _, err := b.resume(ctx, env.Propagation, env.Aggregation); err != nil {
		return err
	}
	return b.awaitStatuses(ctx)
}

// startPair starts two replicas in the place of the one that runs, whose Lease is a longer one. The
// second starts once the first leads and has nothing more to do.
func startPair(ctx context.Context, b *bench, p *pair) error {
	before, err := leaseOf(ctx, b, p.name)
	if err != nil {
		return err
	}
	if err := b.halt(ctx, p.name); err != nil {
		return err
	}
	// The rows are to be the same in each pod, so that nothing is rewritten for the sake of search.
	var arguments []string
	if p.name == env.Aggregation {
		arguments = append(arguments, "--intermediate-dir="+b.fleet.IntermediateDir(0))
	}
	if p.leader, err = b.fleet.StartStandby(ctx, p.name, firstReplica, arguments...); err != nil {
		return err
	}
	err = env.WaitFor(ctx, patience, p.name+" to lead", func(ctx context.Context) (bool, string) {
		l, err := leaseOf(ctx, b, p.name)
		if err != nil {
			return false, err.Error()
		}
		p.duration = time.Duration(l.Spec.LeaseDurationSeconds) * time.Second
		return l.Spec.HolderIdentity != "" && l.Spec.HolderIdentity != before.Spec.HolderIdentity, fmt.Sprintf("it is %+v", l.Spec)
	})
	if err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	p.standby, err = b.fleet.StartStandby(ctx, p.name, secondReplica, arguments...)
	return err
}

// restartKilled starts those that were killed, as the standbys of those that took over.
func restartKilled(ctx context.Context, pairs []*pair) error {
	for _, p := range pairs {
		if err := p.standby.Start(ctx); err != nil {
			return err
		}
		if err := p.standby.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// takeOver kills the leaders and waits until the standbys have done their work for a change.
// Then they are the leaders.
func takeOver(ctx context.Context, b *bench, pairs []*pair) error {
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	held, err := followLeases(watching, b, pairs)
	if err != nil {
		return err
	}
	work := newStopwatch(onHub, inReport)
	for place, path := range map[string]string{onHub: simulate.Applications, inReport: simulate.Reports} {
		if _, err := b.hub.Watch(watching, path, func(e hub.Event, arrived time.Time) { work.see(place, e.Object, arrived) }); err != nil {
			return err
		}
	}
	changed := b.draw(b.apps, 1)[0]
	mark, killed := b.audit.Mark(), time.Now()
	work.start(changed.revision) // its time begins with the leaders' end
	for _, p := range pairs {
		if err := p.leader.Kill(ctx); err != nil {
			return err
		}
	}
	if err := b.send(ctx, changed); err != nil {
		return err
	}
	err = env.WaitFor(ctx, patience, "the standbys to work", func(context.Context) (bool, string) {
		return work.left() == 0 && held.left() == 0, fmt.Sprintf("%d sightings and %d Leases are missing", work.left(), held.left())
	})
	if err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	for _, p := range pairs {
		p.leased = append(p.leased, held.when(p.name).Sub(killed))
		p.worked = append(p.worked, work.times(p.place)[0])
		if err := countBeyond(b, p, mark, changed); err != nil {
			return err
		}
		p.leader, p.standby = p.standby, p.leader
	}
	return nil
}

// countBeyond counts a binary's writes since a mark that a change of one Application does not ask for.
func countBeyond(b *bench, p *pair, mark int, c change) error {
	all, err := b.audit.Since(mark, func(e *audit.Entry) bool { return e.Account == p.name && write(e) })
	for what, n := range beyond(all, c) {
		p.beyond[what] += n
	}
	return err
}

// beyond returns the writes that a change of one Application does not ask for: all but
// one of its status and one of its report.
func beyond(all []audit.Entry, c change) map[string]int {
	due := map[string]bool{
		"patch applications " + simulate.ApplicationName(c.set, c.cluster): true,
		"update multiclusterapplicationsetreports " + c.set:                true,
	}
	more := map[string]int{}
	for i := range all {
		e := &all[i]
		which := fmt.Sprintf("%s %s %s", e.Verb, e.Resource, e.Name)
		if due[which] && e.Code < 300 {
			due[which] = false
			continue
		}
		more[fmt.Sprintf("%s %s %d", e.Verb, e.Resource, e.Code)]++
	}
	return more
}

// rowsOfTakeovers makes the rows of one binary.
func rowsOfTakeovers(b *bench, p *pair) {
	b.row(figure.Row{
		What:  "standby of " + p.name + ": from the leader's kill until the work of a change is done, the longest",
		Value: slices.Max(p.worked).Seconds(), Unit: "s", Comparison: figure.AtMost, Target: (p.duration + beyondLease).Seconds(),
		Beside: fmt.Sprintf("of %s; it had the Lease after %s, whose duration is %s; %d Applications", rounded(p.worked), rounded(p.leased), p.duration, len(b.apps)),
	})
	total := 0
	for _, n := range p.beyond {
		total += n
	}
	b.row(figure.Row{
		What: "standby of " + p.name + ": writes when it took over, beyond those of the change", Value: float64(total), Comparison: figure.AtMost, Target: 0,
		Beside: fmt.Sprintf("%d times; the Lease, and the Event about it, left out%s", takeovers, listed(p.beyond)),
	})
}

// rounded spells durations.
func rounded(durations []time.Duration) string {
	var text string
	for i, d := range durations {
		if i > 0 {
			text += ", "
		}
		text += round(d).String()
	}
	return text
}

const (
	leases = "/apis/coordination.k8s.io/v1/namespaces/" + env.ProductNamespace + "/leases"
	// leasePrefix begins the names of the Leases, before the binary's.
	leasePrefix = "multicluster-integrations-"
)

// leaseOf is the part of a Lease that is read.
type lease struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		HolderIdentity       string `json:"holderIdentity"`
		LeaseDurationSeconds int    `json:"leaseDurationSeconds"`
	} `json:"spec"`
}

// leaseOf returns the Lease of a binary.
func leaseOf(ctx context.Context, b *bench, name string) (l lease, err error) {
	err = b.hub.Get(ctx, leases+"/"+leasePrefix+name, &l)
	return l, err
}

// followLeases notes when Leases get another holder than they had.
type holders struct {
	mu     sync.Mutex
	before map[string]string // by Lease; no more once it has another
	taken  map[string]time.Time
}

// followLeases follows the Leases of pairs from now on, until ctx ends.
func followLeases(ctx context.Context, b *bench, pairs []*pair) (*holders, error) {
	h := &holders{before: map[string]string{}, taken: map[string]time.Time{}}
	for _, p := range pairs {
		l, err := leaseOf(ctx, b, p.name)
		if err != nil {
			return nil, err
		}
		h.before[leasePrefix+p.name] = l.Spec.HolderIdentity
	}
	_, err := b.hub.Watch(ctx, leases, func(e hub.Event, arrived time.Time) { h.see(e.Object, arrived) })
	return h, err
}

// see takes in a Lease that arrived.
func (h *holders) see(object json.RawMessage, arrived time.Time) {
	var l lease
	if decode(object, &l) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before, waiting := h.before[l.Metadata.Name]
	if waiting && l.Spec.HolderIdentity != "" && l.Spec.HolderIdentity != before {
		delete(h.before, l.Metadata.Name)
		h.taken[l.Metadata.Name] = arrived
	}
}

// left returns how many Leases still have the holder that they had.
func (h *holders) left() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.before)
}

// when returns when the Lease of a binary got another holder; zero when it did not.
func (h *holders) when(name string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.taken[leasePrefix+name]
}
