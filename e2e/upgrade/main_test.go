// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/e2e/upgrade/before"
)

var (
	fleet   *env.Fleet
	view    *scenario.View
	release *before.Release
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run starts the fleet with the release before.
func run(m *testing.M) (code int, err error) {
	ctx := env.WithParent(context.Background())
	if release, err = before.Open(ctx); err != nil {
		return 1, err
	}
	if release.Missing != "" {
		fmt.Printf("this checkout stands in for the release before: %s\n", release.Missing)
	}
	if err := errors.Join(release.Build(ctx), env.Build(ctx)); err != nil {
		return 1, err
	}
	fleet, err = env.Start(ctx, env.Options{Sources: release.Root, Progress: func(line string) { fmt.Println(line) }})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	if view, err = scenario.Watch(ctx, fleet); err != nil {
		return 1, err
	}
	if err := scenario.Prepare(ctx, fleet); err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		kept, keepErr := fleet.KeepLogs()
		fmt.Println("the logs are kept in", kept)
		err = keepErr
	}
	return code, err
}
