// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package liveview tests that an unmodified argocd-server shows pulled Applications.
package liveview

import (
	"context"
	"os"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

var (
	fleet *env.Fleet
	live  *scenario.LiveView
)

func TestMain(m *testing.M) {
	options := env.Options{Old: []string{"cluster2"}, Product: []string{env.Propagation}, ArgoCDAccounts: true}
	// A measurement uses Argo CD's own intervals. With checks every four seconds, a hundred Applications
	// would fill the agent's queue.
	options.DefaultPoll = os.Getenv("LIVEVIEW_APPLICATIONS") != ""
	os.Exit(env.RunTests(m.Run, options, func(ctx context.Context, f *env.Fleet) (err error) {
		fleet = f
		live, err = scenario.StartLiveView(ctx, f, "--keep=10s")
		return err
	}))
}
