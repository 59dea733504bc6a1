// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command tools builds the real components for tests, demo and development into bin/ of the checkout. The
// tool modules next to it pin the versions. It skips components that are current by their content. It imports
// only the standard library, so that it needs no download.
//
//	GOWORK=off go run -C e2e/tools .                  # everything
//	GOWORK=off go run -C e2e/tools . test lint        # the parts of two groups
//	GOWORK=off go run -C e2e/tools . -list            # list the parts
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	bin := flag.String("bin", filepath.Join("..", "..", "bin"), "folder to build into")
	parts := flag.String("parts", os.Getenv("PARTS"), "folder with binaries that are there already and are used instead of building them (environment: PARTS)")
	list := flag.Bool("list", false, "list the parts with their groups instead of building")
	flag.Usage = func() {
		out := flag.CommandLine.Output()
		_, _ = fmt.Fprintf(out, "usage: go run -C e2e/tools . [flags] [part or group...]\n\n%s\n\nflags:\n", known(catalog()))
		flag.PrintDefaults()
	}
	flag.Parse()
	wanted, err := resolve(catalog(), flag.Args())
	if err != nil {
		fail(err)
	}
	if *list {
		for _, p := range wanted {
			fmt.Printf("%-24s %-24s %s\n", p.name, strings.Join(p.groups, ","), strings.Join(p.modules(), ","))
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := newBuilder(".", *bin, *parts, os.Stderr)
	if err == nil {
		err = b.run(ctx, wanted)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted; what was finished stays")
	}
	if err != nil {
		stop()
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "tools:", err)
	os.Exit(1)
}
