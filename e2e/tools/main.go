// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command tools builds the real parts that tests, demo and development need, at the versions that the tool modules beside it
// pin, into bin/ of the checkout. What is current is skipped, by content and not by time.
//
//	GOWORK=off go run -C e2e/tools .                  # everything
//	GOWORK=off go run -C e2e/tools . test lint        # the parts of two groups
//	GOWORK=off go run -C e2e/tools . -list            # what there is
//
// One change is made to one real part; see argocdLoopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
	// parentPoll is how often the builder looks whether the process that started it is still there.
	parentPoll = time.Second
)

func main() {
	// The kernel ties a child to the thread that started it; see ownGroup.
	runtime.LockOSThread()
	bin := flag.String("bin", filepath.Join("..", "..", "bin"), "folder to build into")
	parts := flag.String("parts", os.Getenv("PARTS"), "folder with binaries that are there already and are used instead of building them (environment: PARTS)")
	list := flag.Bool("list", false, "list the parts with their groups instead of building")
	flag.Usage = usage
	flag.Parse()
	wanted, err := resolve(catalog(), flag.Args())
	if err != nil {
		fail(exitUsage, err)
	}
	if *list {
		printList(os.Stdout, wanted)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = build(untilOrphaned(ctx), *bin, *parts, wanted)
	switch {
	case errors.Is(err, context.Canceled):
		fail(exitInterrupted, errors.New("interrupted; what was finished stays, the rest leaves nothing behind"))
	case err != nil:
		fail(exitFailed, err)
	}
}

// build builds wanted into the folder bin, from the tool modules below the working directory. What the folder parts has is used
// as it is.
func build(ctx context.Context, bin, parts string, wanted []part) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "kubernetes", "go.mod")); err != nil {
		return fmt.Errorf("run this with `go run -C e2e/tools .`, which finds the tool modules: %w", err)
	}
	absolute, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	b := newBuilder(root, absolute, os.Stderr)
	if parts != "" {
		if b.parts, err = filepath.Abs(parts); err != nil {
			return err
		}
	}
	return b.run(ctx, wanted)
}

// untilOrphaned returns a context that ends with parent or with the process that started this one. `go run` passes no SIGTERM
// on to the program it runs; without this the builder would go on building for nobody.
func untilOrphaned(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	starter := os.Getppid()
	go func() {
		defer cancel()
		tick := time.NewTicker(parentPoll)
		defer tick.Stop()
		for os.Getppid() == starter {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx
}

func usage() {
	out := flag.CommandLine.Output()
	say(out, "usage: go run -C e2e/tools . [flags] [part or group...]\n\ngroups: %s\nparts:  %s\n\nflags:\n",
		strings.Join(groupNames(catalog()), " "), strings.Join(partNames(catalog()), " "))
	flag.PrintDefaults()
}

func printList(out io.Writer, parts []part) {
	for _, p := range parts {
		say(out, "%-24s %-24s %s\n", p.name, strings.Join(p.groups, ","), strings.Join(p.modules(), ","))
	}
}

func fail(status int, err error) {
	say(os.Stderr, "tools: %v\n", err)
	os.Exit(status)
}
