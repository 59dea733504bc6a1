// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the product on a real API server and etcd, and compares it with the limits of that
// server.
//
//	bench -size quick|standard|large|xlarge [-out folder]
//
// It prints a table and writes it as JSON to the folder. A figure that misses its target does not fail the
// run: the exit code is 0 if the run ended. With -gate, the run fails if a ratio or a count misses its
// target, because these mean the same on every machine. It also fails if a figure is worse than the committed
// results beyond the noise of repeated runs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/run"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func main() {
	env.Main("bench", func(ctx context.Context) error { return bench(ctx, os.Args[1:]) })
}

func bench(ctx context.Context, arguments []string) (err error) {
	defer must.Return(&err)
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	name := flags.String("size", "quick", "quick, standard, large or xlarge (24 GiB of memory)")
	only := flags.String("only", "", "phases to run once the fleet is there, such as latency,trickle,lone; empty: all")
	out := flags.String("out", filepath.Join(testkit.Root(), "bin", "bench"), "folder for the results")
	committed := flags.String("committed", filepath.Join(testkit.Root(), "e2e", "bench", "results"), "folder of the results to compare with; empty: none")
	gate := flags.Bool("gate", false, "fail when a ratio or a count misses its target or, beyond the noise, the committed results")
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	size := must.Get(rig.FindSize(*name))
	must.OK(os.MkdirAll(*out, 0o755))
	var phases []string
	if *only != "" {
		phases = strings.Split(*only, ",")
		*committed = "" // the committed results include all phases
	}
	commit := revision(ctx)
	results, err := run.Run(ctx, rig.Options{Size: size, Only: phases, Progress: func(line string) { fmt.Fprintln(os.Stderr, line) }})
	if results == nil || len(results.Rows) == 0 {
		return err
	}
	results.Commit = commit
	if len(phases) > 0 {
		results.Size += "-" + strings.Join(phases, "-")
	}
	return errors.Join(err, conclude(results, *out, *committed, *gate))
}

// conclude prints and writes the results. With gate it returns an error if a figure misses its target or is
// worse than the committed results.
func conclude(results *figure.Results, out, committed string, gate bool) error {
	fmt.Print("\n", figure.Table(results.Rows), "\n")
	if missed := results.Missed(); len(missed) > 0 {
		fmt.Printf("%d figures are missed.\n", len(missed))
	}
	worse, err := compare(committed, results)
	err = errors.Join(write(out, results), err)
	if gate && worse > 0 {
		err = errors.Join(err, fmt.Errorf("%d figures are worse than in the committed results", worse))
	}
	if regressions := results.Regressions(); gate && len(regressions) > 0 {
		err = errors.Join(err, fmt.Errorf("%d ratios or counts miss their targets:\n%s", len(regressions), figure.Table(regressions)))
	}
	return err
}

// compare prints the figures that are worse than the results of the same size in folder, and returns their
// number. It returns 0 if folder has no results of the size and fleet.
func compare(folder string, r *figure.Results) (int, error) {
	data, err := os.ReadFile(filepath.Join(folder, r.Size+".json"))
	if folder == "" || errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	before := &figure.Results{}
	if err == nil {
		err = json.Unmarshal(data, before)
	}
	if err != nil {
		return 0, fmt.Errorf("read the committed results: %w", err)
	}
	if before.Fleet != r.Fleet {
		return 0, nil
	}
	fmt.Println(figure.CompareText(before, r))
	return len(figure.Worse(before, r)), nil
}

// write writes the results to a folder.
func write(folder string, r *figure.Results) error {
	data, err := r.JSON()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, r.Size+".json")
	fmt.Println(path)
	return os.WriteFile(path, data, 0o644)
}

// revision returns the commit of the checkout, with a mark if the product's sources differ from it.
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
