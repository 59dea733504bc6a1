// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run contains the figures of the benchmark, each as a function of one rig.
package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// Run runs the benchmark. It also returns the results so far with an error.
func Run(ctx context.Context, o rig.Options) (results *figure.Results, err error) { //nolint:contextcheck // the fleet's context is watched for its end
	b := &rig.Rig{
		Options: o, Began: time.Now(),
		Results: &figure.Results{
			Size:      o.Size.Name,
			Machine:   figure.Machine{Processors: runtime.NumCPU(), LoadBefore: process.Load()},
			APIServer: o.Size.APIServer,
			Fleet:     figure.Fleet{Clusters: o.Size.Clusters, Sets: o.Size.Sets, Applications: o.Size.Clusters * o.Size.Sets},
		},
	}
	if b.Folder, err = os.MkdirTemp("", "multicluster-integrations-bench-"); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		err = errors.Join(err, b.Close(), os.RemoveAll(b.Folder))
	}()
	if err := must.Try(func() { b.Start(ctx) }); err != nil {
		return nil, err
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running := b.Product.Fleet.Processes.Context()
	defer context.AfterFunc(running, func() { cancel(context.Cause(running)) })() //nolint:contextcheck // it is the fleet's end that is passed on
	return b.Results, measure(watched, b)
}

// phase is a part of the benchmark. It ends at the first failure (see [must.OK]).
type phase struct {
	key, name string
	run       func(context.Context, *rig.Rig)
}

// phases returns all phases in an order in which each prepares the next one.
func phases() []phase {
	return []phase{
		{"grow", "small fleet", grow},
		{"cold", "cold delivery", coldDelivery},
		{"storm", "storm of first statuses", storm},
		{"cost", "costs at full size", cost},
		{"latency", "latency at 5 changes a second", latency},
		{"trickle", "what 5 changes a second cost", trickle},
		{"lone", "latency of lone changes", lone},
		{"burst", "burst on one report", burst},
		{"page", "the page, with nobody, one and ten looking", page},
		{"idle", "idle, search polled", idleFleet},
		{"search", "search on its own", searchAlone},
		{"nosearch", "idle, no search service", idleWithoutSearch},
		{"restart", "warm restart", restart},
		{"push", "push to one repository", push},
		{"standby", "standbys take over", standby},
		{"wide", "one wide report", wide},
	}
}

// measure runs all phases.
func measure(ctx context.Context, b *rig.Rig) error {
	chosen, err := choose(b.Options, phases())
	if err != nil {
		return err
	}
	for _, phase := range chosen {
		b.Say("%s", phase.name)
		if err = must.Try(func() { phase.run(ctx, b) }); err != nil {
			err = fmt.Errorf("%s: %w", phase.name, errors.Join(err, context.Cause(ctx)))
			break
		}
	}
	// A run that ends early has these rows, too, for the sizes that it measured.
	relateCosts(b)
	relateMemory(b)
	return err
}

// choose returns the requested phases in their order.
func choose(o rig.Options, all []phase) ([]phase, error) {
	if len(o.Only) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(p phase) bool { return slices.Contains(o.Size.Without, p.key) }), nil
	}
	chosen := []phase{{"fill", "whole fleet", fill}}
	for _, p := range all {
		if slices.Contains(o.Only, p.key) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) <= len(o.Only) {
		return nil, fmt.Errorf("not every phase of %q is there", o.Only)
	}
	return chosen, nil
}
