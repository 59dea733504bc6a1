// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run measures the product from outside: its three binaries with the flags
// and rights that they are shipped with, on a real API server and etcd, in a fleet
// that is simulated at its edge only.
package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
)

// Options say what to run.
type Options struct {
	Size Size
	// Progress is told what happens.
	Progress func(line string)
	// Only are the phases to run once the fleet is there, by their keys; none: all.
	Only []string
	// Profiles is a folder for CPU profiles of the binaries, which then serve them;
	// empty: none.
	Profiles string
}

// bench is a run.
type bench struct {
	Options
	began   time.Time
	folder  string
	fleet   *env.Fleet
	hub     *hub.Client
	audit   *audit.Log
	search  *search.Server
	random  *rand.Rand
	results *figure.Results

	setUIDs  map[string]string
	apps     []*application
	revision int
	degraded bool // agents report trouble from now on
	// empty is the memory of the binaries before there was an Application.
	empty map[string]process.Usage
	// works that the baseline writes; no binary delivers or mirrors them
	baseline baseline
}

// application is a simulated Application and its work.
type application struct {
	set, cluster string
	work         string
	generation   int64
	revision     string // that its managed cluster last reported
}

// Run runs the benchmark. Results are returned with an error, too, as far as they go.
func Run(ctx context.Context, o Options) (results *figure.Results, err error) { //nolint:contextcheck // the fleet's context is watched for its end
	b := &bench{
		Options: o, began: time.Now(), setUIDs: map[string]string{},
		random: rand.New(rand.NewPCG(1, 2)), // the same choices in every run
		results: &figure.Results{
			Size:      o.Size.Name,
			Machine:   figure.Machine{Processors: runtime.NumCPU(), LoadBefore: process.Load()},
			APIServer: o.Size.APIServer,
			Fleet:     figure.Fleet{Clusters: o.Size.Clusters, Sets: o.Size.Sets, Applications: o.Size.Clusters * o.Size.Sets},
			Latencies: map[string]figure.Quantiles{}, Distributions: map[string]figure.Distribution{},
		},
	}
	if b.folder, err = os.MkdirTemp("", "multicluster-integrations-bench-"); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		err = errors.Join(err, b.close(), os.RemoveAll(b.folder))
	}()
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running := b.fleet.Context()
	defer context.AfterFunc(running, func() { cancel(context.Cause(running)) })() //nolint:contextcheck // it is the fleet's end that is passed on
	return b.results, b.measure(watched)
}

// phase is a part of the benchmark.
type phase struct {
	key, name string
	run       func(context.Context) error
}

// phases are all there are, in an order in which each leaves behind what the next one wants.
func (b *bench) phases() []phase {
	return []phase{
		{"grow", "small fleet", b.grow},
		{"cold", "cold delivery", b.cold},
		{"storm", "storm of first statuses", b.storm},
		{"cost", "costs at full size", b.cost},
		{"latency", "latency at 5 changes a second", b.latency},
		{"trickle", "what 5 changes a second cost", b.trickle},
		{"lone", "latency of lone changes", b.lone},
		{"burst", "burst on one report", b.burst},
		{"page", "the page, with nobody, one and ten looking", b.page},
		{"idle", "idle, search polled", b.idle},
		{"search", "search on its own", b.bareSearch},
		{"nosearch", "idle, no search service", b.idleWithoutSearch},
		{"restart", "warm restart", b.restart},
		{"push", "push to one repository", b.push},
		{"standby", "standbys take over", b.standby},
		{"wide", "one wide report", b.wide},
	}
}

// measure goes through all figures.
func (b *bench) measure(ctx context.Context) error {
	phases, err := b.chosen(b.phases())
	if err != nil {
		return err
	}
	err = b.goThrough(ctx, phases)
	// A run that ends early has them, too: of the sizes that it got to, from which more can be computed.
	b.relateCosts()
	b.relateMemory()
	return err
}

func (b *bench) goThrough(ctx context.Context, phases []phase) error {
	for _, phase := range phases {
		b.say("%s", phase.name)
		if err := phase.run(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = errors.Join(err, cause)
			}
			return fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	return nil
}

// chosen returns the phases that are asked for, in their order.
func (b *bench) chosen(all []phase) ([]phase, error) {
	if len(b.Only) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(p phase) bool { return slices.Contains(b.Size.Without, p.key) }), nil
	}
	chosen := []phase{{"fill", "whole fleet", b.fill}}
	for _, p := range all {
		if slices.Contains(b.Only, p.key) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) <= len(b.Only) {
		return nil, fmt.Errorf("not every phase of %q is there", b.Only)
	}
	return chosen, nil
}

// start starts the hub and search; none of the product's binaries runs yet.
func (b *bench) start(ctx context.Context) error {
	policy := filepath.Join(b.folder, "audit-policy.json")
	log := filepath.Join(b.folder, "audit.log")
	rules, err := audit.Policy(env.ProductNamespace, baselineNamespaceNames())
	if err != nil {
		return err
	}
	if err := os.WriteFile(policy, rules, 0o600); err != nil {
		return err
	}
	server := []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log, "--audit-log-maxsize=100000"}
	if b.Profiles != "" {
		server = append(server, "--profiling=true")
	}
	fleet, err := env.Start(ctx, env.Options{
		HubOnly: true, Product: []string{}, Progress: b.Progress, APIServer: server, APIServerEnvironment: b.Size.APIServer,
	})
	if err != nil {
		return err
	}
	b.fleet = fleet
	b.audit = audit.Follow(ctx, log)
	if b.hub, err = hub.New(fleet.Hub.Config); err != nil {
		return err
	}
	if err := os.WriteFile(b.tokenFile(), []byte(searchToken), 0o600); err != nil {
		return err
	}
	b.search, err = search.Start(ctx, search.Options{
		Dir: b.folder, Source: memory.Fleet{}, Reviewer: access.Tokens{searchToken: {AllManaged: true}},
	})
	return err
}

// searchToken is the token of resourcesync for search.
const searchToken = "bench"

func (b *bench) tokenFile() string { return filepath.Join(b.folder, "search.token") }

func (b *bench) close() error {
	var errs []error
	if b.search != nil {
		errs = append(errs, b.search.Close())
	}
	if b.fleet != nil {
		errs = append(errs, b.fleet.Stop())
	}
	return errors.Join(errs...)
}

func (b *bench) say(format string, args ...any) {
	b.Progress(fmt.Sprintf("%6.1fs  ", time.Since(b.began).Seconds()) + fmt.Sprintf(format, args...))
}

// row adds a figure and says it.
func (b *bench) row(r figure.Row) {
	b.results.Rows = append(b.results.Rows, r)
	b.say("  %s: %s %s %s (%s)", r.What, figure.Number(r.Value), r.Unit, r.Verdict(), r.Beside)
}
