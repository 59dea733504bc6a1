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
	"time"
)

// Main runs a program until it returns or is interrupted, and exits with its result.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(WithParent(ctx))
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\n%s: %v\n", name, err)
		os.Exit(1)
	}
}

// WithParent returns a context that also ends when the parent process ends. So a fleet does not
// outlive a killed make or go.
func WithParent(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		cancel(errors.New("the parent process of this program has ended"))
	}()
	return ctx
}

// Use starts a fleet of freshly built binaries, calls use with it and stops it. The context of use also ends
// when a process of the fleet exits on its own. If use fails without an interruption, Use keeps the logs and
// returns their path in the error.
func Use(ctx context.Context, o Options, use func(context.Context, *Fleet) error) (err error) {
	if err := Build(ctx); err != nil {
		return err
	}
	f, err := Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Stop()) }()
	running, done := f.Processes.bind(ctx)
	defer done()
	if err = use(running, f); err != nil && ctx.Err() == nil {
		kept, keepErr := f.Processes.KeepLogs()
		err = errors.Join(fmt.Errorf("%w\nthe logs are kept in %s", err, kept), keepErr)
	}
	return err
}

var errTests = errors.New("tests failed")

// RunTests runs tests on a fleet and returns the exit code for TestMain. ready prepares the fleet before the
// first test, and may be nil. If the run is interrupted, the whole fleet ends with it.
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
	o.Progress = func(line string) { fmt.Println(line) }
	err := Use(WithParent(ctx), o, func(ctx context.Context, f *Fleet) error {
		if ready != nil {
			if err := ready(ctx, f); err != nil {
				return err
			}
		}
		if tests() != 0 {
			return errTests
		}
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// NeedBinary returns an error unless binary, the value of -binary, and beside exist. beside is a further path
// that is needed from the checkout in which the binary was built.
func NeedBinary(binary, beside string) error {
	if binary == "" {
		return errors.New("-binary is empty: set it to the path of a binary in the checkout in which it was built")
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("-binary: %w", err)
	}
	if _, err := os.Stat(beside); err != nil {
		return fmt.Errorf("-binary %s is not in the checkout in which it was built: %w", binary, err)
	}
	return nil
}
