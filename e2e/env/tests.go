// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// RunTests starts a fleet of freshly built binaries, runs tests and returns the exit code
// for TestMain. ready prepares the fleet before the first test and may be nil. The logs
// of the fleet are kept when a test fails. A run that is told to end ends with all that
// runs in the fleet.
func RunTests(tests func() int, o Options, ready func(context.Context, *Fleet) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, context.Cause(ctx))
			os.Exit(1)
		case <-done:
		}
	}()
	code, err := runTests(WithParent(ctx), tests, o, ready)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runTests(ctx context.Context, tests func() int, o Options, ready func(context.Context, *Fleet) error) (code int, err error) {
	if err := Build(ctx); err != nil {
		return 1, err
	}
	o.Progress = func(line string) { fmt.Println(line) }
	f, err := Start(ctx, o)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, f.Stop()) }()
	if ready != nil {
		if err := ready(ctx, f); err != nil {
			return 1, err
		}
	}
	if code = tests(); code != 0 {
		kept, err := f.KeepLogs()
		fmt.Println("the logs are kept in", kept)
		return code, err
	}
	return 0, nil
}
