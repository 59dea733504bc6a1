// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the pull model on a fleet of real components. It starts the fleet, delivers the example
// by pull and shows its state. Its exit status is 0 only if every step succeeded.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

func main() {
	keep := flag.Bool("keep", false, "leave the fleet running at the end, until Ctrl-C")
	mixed := flag.Bool("mixed", false, "run the oldest supported Argo CD and Open Cluster Management on cluster2")
	rendered := flag.Bool("rendered", false, "run the scenario of rendered mode, in which the managed clusters have no Argo CD")
	gitops := flag.Bool("gitopscluster", false, "register the clusters by GitOpsClusters, which select them by Placement")
	flag.Parse()
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	if *rendered && (*mixed || *gitops) {
		fmt.Fprintln(os.Stderr, "-rendered goes with neither -mixed nor -gitopscluster: choose one")
		os.Exit(2)
	}
	env.Main("the demo failed", func(ctx context.Context) error {
		return run(ctx, *keep, *mixed, env.Options{Rendered: *rendered, GitOpsClusters: *gitops, SaveMemory: true})
	})
}

func run(ctx context.Context, keep, mixed bool, options env.Options) error {
	say := func(text string) { log.Println(text) } // safe for concurrent use
	options.Progress, options.Page = say, true
	say("Starting the fleet: a hub, two managed clusters, Open Cluster Management, Argo CD.")
	if options.Rendered {
		say("The hub's own Argo CD renders; the managed clusters have none.")
	}
	if mixed {
		options.Old = []string{"cluster2"}
		say("The hub and cluster1 run the newest parts, cluster2 the oldest supported ones.")
	}
	return env.Use(ctx, options, func(ctx context.Context, fleet *env.Fleet) error {
		look, err := page(ctx, fleet)
		if err != nil {
			return err
		}
		say(look)
		if err := runScenario(ctx, fleet, say); err != nil || !keep {
			return err
		}
		if look, err = page(ctx, fleet); err != nil { // the first token may expire soon
			return err
		}
		say(invitation(fleet) + look)
		<-ctx.Done()
		return fleet.Processes.Err() // nil after Ctrl-C
	})
}

// runScenario runs the scenario and prints a line for every change of an Application.
func runScenario(ctx context.Context, fleet *env.Fleet, say func(string)) (err error) {
	defer must.Return(&err)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	view := must.Get(scenario.Watch(watching, fleet))
	following := make(chan struct{})
	go func() {
		defer close(following)
		follow(watching, view, say)
	}()
	defer func() { cancel(); <-following }()

	var s interface {
		Steps() []scenario.Step
		Latencies() []scenario.Latency
	} = scenario.New(fleet, view, say)
	if fleet.Rendered() {
		s = scenario.NewRendered(fleet, view, say)
	}
	must.OK(scenario.Run(ctx, s.Steps(), say))
	say(measured(s.Latencies()))
	return nil
}
