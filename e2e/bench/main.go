// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the product on a real API server and etcd and says how it
// compares with what that server can do:
//
//	bench -size quick|standard|large [-out folder]
//
// It prints a table and writes it as JSON, with plots, to the folder. A figure
// that misses its target is no failure of the run: the status is 0 when it ran.
// With -gate it is one, for ratios and counts, which mean the same on every machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/run"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(env.WithParent(ctx), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be stopped
	}
}

func bench(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	name := flags.String("size", "quick", "quick, standard or large")
	clusters := flags.Int("clusters", 0, "another number of clusters than the size's")
	sets := flags.Int("sets", 0, "another number of ApplicationSets than the size's")
	out := flags.String("out", filepath.Join(testkit.Root(), "bin", "bench"), "folder for the results and plots")
	gate := flags.Bool("gate", false, "fail when a ratio or a count misses its target")
	profiles := flags.String("profiles", "", "folder for CPU profiles of the binaries; empty: none")
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	size, err := run.FindSize(*name)
	if err != nil {
		return err
	}
	for _, folder := range []string{*out, *profiles} {
		if folder == "" {
			continue
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	commit := revision(ctx)
	results, err := run.Run(ctx, run.Options{Size: size.With(*clusters, *sets), Profiles: *profiles, Progress: func(line string) { fmt.Fprintln(os.Stderr, line) }})
	if results != nil && len(results.Rows) > 0 {
		results.Commit = commit
		fmt.Print("\n", figure.Table(results.Rows), "\n")
		if missed := results.Missed(); len(missed) > 0 {
			fmt.Printf("%d figures are missed.\n", len(missed))
		}
		err = errors.Join(err, write(*out, results))
		if regressions := results.Regressions(); *gate && len(regressions) > 0 {
			err = errors.Join(err, fmt.Errorf("%d ratios or counts miss their targets:\n%s", len(regressions), figure.Table(regressions)))
		}
	}
	return err
}

// write writes the results and their plots.
func write(folder string, r *figure.Results) error {
	var errs []error
	for name, content := range map[string]func(*figure.Results) ([]byte, error){
		".json": (*figure.Results).JSON, "-latency.svg": plotLatency, "-cost.svg": plotCosts,
	} {
		path := filepath.Join(folder, r.Size+name)
		data, err := content(r)
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		errs = append(errs, err)
		fmt.Println(path)
	}
	return errors.Join(errs...)
}

// revision names the commit of the checkout, with a mark when the product's
// sources differ from it.
func revision(ctx context.Context) string {
	git := func(arguments ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", testkit.Root()}, arguments...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	if dirty, err := git("status", "--porcelain", "--", "shared", "propagation", "resourcesync", "aggregation"); err != nil || dirty != "" {
		return commit + "+changes"
	}
	return commit
}
