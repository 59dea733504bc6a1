// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo tells the story of the pull model on a fleet of real parts.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fleet, err := env.Start(ctx, env.Options{Product: []string{}, Progress: func(line string) { fmt.Println(line) }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(fleet.Folder())
	<-ctx.Done()
	if err := fleet.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
