// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
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
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := env.WithParent(context.Background())
	if err := env.Build(ctx); err != nil {
		return 1, err
	}
	fleet, err = env.Start(ctx, env.Options{DefaultPoll: true, Progress: func(line string) { fmt.Println(line) }})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	if err := deliver(ctx); err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		kept, keepErr := fleet.KeepLogs()
		fmt.Println("the logs are kept in", kept)
		err = keepErr
	}
	return code, err
}

// deliver has the guestbook on every managed cluster and the hub's Argo CD API server up.
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
