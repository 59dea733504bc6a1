// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kargo runs Kargo's real controller on a fleet of real components. Its Stages promote commits to
// managed clusters by pulled Applications. The command prints its checks and measurements, and stops with an
// error at the first failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

func main() {
	binary := flag.String("binary", "", "path of Kargo's controlplane in its source, see docs/benchmarks.md")
	bad := flag.Int("bad", 3, "how many bad commits have to stop at canary")
	flag.Parse()
	env.Main("kargo", func(ctx context.Context) error { return run(ctx, *binary, *bad) })
}

func run(ctx context.Context, binary string, bad int) error {
	if err := env.NeedBinary(binary, definitions(binary)); err != nil {
		return err
	}
	if bad < 1 {
		return fmt.Errorf("-bad %d: set 1 or more", bad)
	}
	folder, err := os.MkdirTemp("", "kargo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	audit := filepath.Join(folder, "audit.log")
	return env.Use(ctx, env.Options{
		Product: []string{env.Propagation}, Progress: say, // with the lease of an installation
		Arguments: map[string][]string{env.Propagation: {"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s"}},
		APIServer: []string{"--audit-policy-file=" + file("audit.yaml"), "--audit-log-path=" + audit},
	}, func(ctx context.Context, fleet *env.Fleet) error {
		p := newPipeline(fleet, audit)
		if err := must.Try(func() { p.prepare(ctx, binary) }); err != nil {
			return err
		}
		return scenario.Run(ctx, p.steps(bad), say)
	})
}

func say(line string) { fmt.Println(line) }

// steps returns the steps in their order. Each step depends on the steps before it and returns its
// measurements.
func (p *pipeline) steps(bad int) (steps []scenario.Step) {
	add := func(title string, limit time.Duration, do func(context.Context) string) {
		steps = append(steps, scenario.Step{Title: title, Run: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return errors.Join(must.Try(func() { say(do(ctx)) }), p.fleet.Processes.Err())
		}})
	}
	const limit = 5 * time.Minute
	add("the first commit: canary, then production", limit, p.release)
	add("the next commit: canary, then production", limit, p.release)
	add(fmt.Sprintf("%d bad commits: each stops at canary, and the former freight repairs canary", bad), time.Duration(bad)*limit,
		func(ctx context.Context) string { return p.stops(ctx, bad) })
	add("canary's cluster is unreachable: neither healthy nor verified", 2*limit, p.unreachable)
	add("propagation is killed before it has read the operation", limit, p.killedBefore)
	add("propagation is killed after the cluster has run the operation", limit, p.killedAfter)
	add("desiredRevision without updateTargetRevision: the operation names no revision", limit, p.withoutTarget)
	add("all promotions of this run: nothing bad was on production's cluster", limit, p.total)
	return steps
}
