// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const (
	// listRounds is the number of measured bare lists.
	listRounds = 3
	// takeovers is how often the leaders are killed. The duration is partly random: it depends on
	// the leader's last renewal and on the standby's next check.
	takeovers = 2
	// takeover is the duration of a Lease plus five seconds for the first work.
	takeover = 20 * time.Second
	// These are the numbers of the two replicas of each binary.
	firstReplica, secondReplica = 3, 4
)

// watched are the paths that the two binaries that follow the hub watch.
var watched = map[string][]string{
	env.Propagation: {
		"/apis/argoproj.io/v1alpha1/applications", simulate.Works + rig.Pulled, simulate.ManagedClusters,
		"/apis/cluster.open-cluster-management.io/v1beta1/placementdecisions", simulate.Projects,
	},
	env.Aggregation: {
		simulate.Works + "?labelSelector=" + contract.ApplicationSetLabel + "%3Dtrue", simulate.ManagedClusters,
		"/apis/argoproj.io/v1alpha1/applicationsets",
	},
}

// restart starts the binaries on a hub on which nothing changes.
func restart(ctx context.Context, b *rig.Rig) {
	b.Product.Halt(ctx, rig.Binaries...)
	for _, name := range rig.Followers {
		list := listAlone(ctx, b, watched[name])
		mark := b.Audit.Mark()
		ready := b.Product.Resume(ctx, name)
		b.AwaitNoWrites(ctx, rig.Silence)
		writes := b.Since(mark, func(e *audit.Entry) bool { return e.Account == env.Account(name) && rig.Write(e) })
		b.Row(rig.AtMost(0, "", "warm restart of "+name+": write requests", float64(len(writes)),
			"taking its Lease, and the Event about that, left out%s", rig.Kinds(writes)))
		row := rig.AtMost(b.Size.Restart, "×", "warm restart of "+name+": ready, against a bare LIST of what it watches", float64(ready)/float64(list),
			"%s against %s, start of the process included", rig.Round(ready), rig.Round(list))
		row.Noise = 1.8
		b.Row(row)
	}
	b.AwaitStatuses(ctx)
}

// listAlone lists everything at paths in parallel, as informers do, and drops the answers. It returns the
// median time.
func listAlone(ctx context.Context, b *rig.Rig, paths []string) time.Duration {
	took := make([]time.Duration, 0, listRounds)
	for range listRounds {
		began := time.Now()
		must.OK(hub.Parallel(ctx, len(paths), func(ctx context.Context, i int) error {
			_, err := b.Load.Hub.Discard(ctx, http.MethodGet, paths[i], nil)
			return err
		}))
		took = append(took, time.Since(began))
	}
	return rig.Median(took)
}

// pair is two replicas of a binary with the shipped flags of leader election.
type pair struct {
	name string
	// place names the watch by which the stopwatch observes the binary's work for a change.
	place           string
	leader, standby *env.Process
	// took are the times from the leader's end until its work for a change was observed.
	took []time.Duration
	// beyond are all other writes.
	beyond []audit.Entry
}

// standby kills the leaders of both binaries together. It measures how soon the standbys have done their work
// for a change at that moment. Nothing else changes, so the standbys should write nothing else.
func standby(ctx context.Context, b *rig.Rig) {
	pairs := []*pair{{name: env.Propagation, place: onHub}, {name: env.Aggregation, place: inReport}}
	startPairs(ctx, b, pairs)
	for i := range takeovers {
		for _, p := range pairs {
			if i > 0 { // the killed process becomes the standby of the new leader
				must.OK(errors.Join(p.standby.Start(ctx), p.standby.AwaitReady(ctx)))
			}
		}
		takeOver(ctx, b, pairs)
	}
	for _, p := range pairs {
		rowsOfTakeovers(b, p)
		must.OK(p.leader.Stop(ctx))
	}
	b.Product.Resume(ctx, rig.Followers...)
	b.AwaitStatuses(ctx)
}

// startPairs replaces each running binary by two replicas with the Lease of the shipped manifests. It starts
// the second replica when the first one leads, has reported a change, and is idle.
func startPairs(ctx context.Context, b *rig.Rig, pairs []*pair) {
	start := func(p *pair, number int) *env.Process {
		arguments := []string{"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s"}
		if p.name == env.Aggregation {
			// Both replicas use the same intermediate data, so a takeover rewrites no report because of
			// search.
			arguments = append(arguments, "--intermediate-dir="+b.Product.Fleet.Product.IntermediateDir(0))
		}
		return must.Get(b.Product.Fleet.Product.StartStandby(ctx, p.name, number, arguments...))
	}
	for _, p := range pairs {
		b.Product.Halt(ctx, p.name)
		p.leader = start(p, firstReplica)
	}
	timeChanges(ctx, b, b.Load.Draw(b.Load.Apps, 1), costRate, onHub, inReport)
	b.AwaitNoWrites(ctx, rig.Silence)
	for _, p := range pairs {
		p.standby = start(p, secondReplica)
	}
}

// takeOver kills the leaders and waits until the standbys have done their work for a change. Each standby is
// then the leader of its pair.
func takeOver(ctx context.Context, b *rig.Rig, pairs []*pair) {
	b.AwaitNoWrites(ctx, rig.Silence)
	changes, mark := b.Load.Draw(b.Load.Apps, 1), b.Audit.Mark()
	for _, p := range pairs {
		must.OK(p.leader.Kill(ctx))
	}
	times := timeChanges(ctx, b, changes, costRate, onHub, inReport)
	b.AwaitNoWrites(ctx, rig.Silence)
	for _, p := range pairs {
		p.took = append(p.took, rig.Round(time.Duration(times(p.place)[0]*float64(time.Millisecond))))
		p.beyond = append(p.beyond, beyond(b.Since(mark, func(e *audit.Entry) bool { return e.Account == env.Account(p.name) && rig.Write(e) }), changes[0])...)
		p.leader, p.standby = p.standby, p.leader
	}
}

// beyond returns the writes that a change of one Application does not need: all but one of its status and one
// of its report.
func beyond(all []audit.Entry, c rig.Change) (more []audit.Entry) {
	due := map[string]bool{"patch applications " + c.Name(): true, "update multiclusterapplicationsetreports " + c.Set: true}
	for _, e := range all {
		which := fmt.Sprintf("%s %s %s", e.Verb, e.Resource, e.Name)
		if due[which] && e.Code < 300 {
			due[which] = false
			continue
		}
		more = append(more, e)
	}
	return more
}

// rowsOfTakeovers adds the rows of one binary.
func rowsOfTakeovers(b *rig.Rig, p *pair) {
	b.Row(rig.AtMost(takeover.Seconds(), "s", "standby of "+p.name+": from the leader's kill until the work of a change is done, the longest",
		slices.Max(p.took).Seconds(), "of %v; %d Applications", p.took, len(b.Load.Apps)))
	b.Row(rig.AtMost(0, "", "standby of "+p.name+": writes when it took over, beyond those of the change", float64(len(p.beyond)),
		"%d times; the Lease, and the Event about it, left out%s", takeovers, rig.Kinds(p.beyond)))
}
