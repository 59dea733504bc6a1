// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"os"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

var (
	fleet  *env.Fleet
	server *env.ArgoCDServer
)

func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{DefaultPoll: true}, func(ctx context.Context, f *env.Fleet) error {
		fleet = f
		return deliver(ctx)
	}))
}

// deliver starts the hub's Argo CD API server and delivers the guestbook to every managed cluster.
func deliver(ctx context.Context) (err error) {
	secrets := map[string]string{}
	for _, f := range forges {
		secrets[f.key] = f.secret
	}
	if server, err = fleet.StartArgoCDServer(ctx, secrets); err != nil {
		return err
	}
	view, err := scenario.Watch(ctx, fleet)
	if err != nil {
		return err
	}
	return scenario.New(fleet, view, func(line string) { fmt.Println(line) }).Deliver(ctx)
}
