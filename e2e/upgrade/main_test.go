// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
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

// run starts the fleet with the previous release.
func run(m *testing.M) (code int, err error) {
	ctx := env.WithParent(context.Background())
	if release, err = before.Open(ctx); err != nil {
		return 1, err
	}
	if release.Missing != "" {
		fmt.Printf("this checkout stands in for the release before: %s\n", release.Missing)
	}
	if err := release.Build(ctx); err != nil {
		return 1, err
	}
	return env.RunTests(m.Run, env.Options{Sources: release.Root}, func(ctx context.Context, f *env.Fleet) (err error) {
		fleet = f
		if view, err = scenario.Watch(ctx, f); err != nil {
			return err
		}
		return scenario.Prepare(ctx, f)
	}), nil
}
