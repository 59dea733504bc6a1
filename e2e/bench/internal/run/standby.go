// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	// takeovers is how often the leaders are killed. How long it takes is partly chance: it
	// depends on when the leader last renewed and on when the standby looks next.
	takeovers = 2
	// takeover is the duration of a Lease and five seconds for the first work.
	takeover = 20 * time.Second
	// The numbers of the two replicas of each binary, past those of the page's standbys.
	firstReplica, secondReplica = 3, 4
)

// pair is two replicas of a binary with the flags of leader election that it is shipped with.
type pair struct {
	name string
	// place is where its work for a change is seen.
	place           string
	leader, standby *env.Process
	// took is how long after the leader's end its work for a change was seen.
	took []time.Duration
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
	if err := startPairs(ctx, b, pairs); err != nil {
		return err
	}
	for i := range takeovers {
		for _, p := range pairs {
			if i == 0 {
				continue
			}
			// The one that was killed is the standby of the one that took over.
			if err := errors.Join(p.standby.Start(ctx), p.standby.AwaitReady(ctx)); err != nil {
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

// places are where a change is seen, with their paths.
var places = map[string]string{onHub: simulate.Applications, inReport: simulate.Reports}

// startPairs starts two replicas in the place of each that runs, whose Lease is a longer one. The second starts
// once the first leads, which it shows by a change, and has nothing more to do.
func startPairs(ctx context.Context, b *bench, pairs []*pair) (err error) {
	start := func(p *pair, number int) (*env.Process, error) {
		if p.name == env.Aggregation {
			// The rows are to be the same in each pod, so that nothing is rewritten for the sake of search.
			return b.fleet.StartStandby(ctx, p.name, number, "--intermediate-dir="+b.fleet.IntermediateDir(0))
		}
		return b.fleet.StartStandby(ctx, p.name, number)
	}
	for _, p := range pairs {
		if err := b.halt(ctx, p.name); err != nil {
			return err
		}
		if p.leader, err = start(p, firstReplica); err != nil {
			return err
		}
	}
	if _, err := timeChanges(ctx, b, places, b.draw(b.apps, 1), costRate); err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	for _, p := range pairs {
		if p.standby, err = start(p, secondReplica); err != nil {
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
	changes, mark := b.draw(b.apps, 1), b.audit.Mark()
	for _, p := range pairs {
		if err := p.leader.Kill(ctx); err != nil {
			return err
		}
	}
	watch, err := timeChanges(ctx, b, places, changes, costRate)
	if err != nil {
		return err
	}
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	for _, p := range pairs {
		p.took = append(p.took, round(watch.times(p.place)[0]))
		all, err := b.audit.Since(mark, func(e *audit.Entry) bool { return e.Account == p.name && write(e) })
		if err != nil {
			return err
		}
		for what, n := range beyond(all, changes[0]) {
			p.beyond[what] += n
		}
		p.leader, p.standby = p.standby, p.leader
	}
	return nil
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
		Value: slices.Max(p.took).Seconds(), Unit: "s", Comparison: figure.AtMost, Target: takeover.Seconds(),
		Beside: fmt.Sprintf("of %v; %d Applications", p.took, len(b.apps)),
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
