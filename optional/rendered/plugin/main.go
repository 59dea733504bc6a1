// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plugin is the config management plugin of rendered mode. Argo CD's repo-server starts it once for each
// Application and commit, so it is small and uses no API server.
//
//	plugin install DIR   copies itself to DIR/plugin, for an image without cp
//	plugin generate      prints ManifestWorks for the source in the working folder
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const usage = "usage: plugin install DIR | plugin generate [flags]"

// maxMessage limits the error text that Argo CD shows, in bytes.
const maxMessage = 1024

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, oneLine(err.Error()))
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "install":
		return install(args[1])
	case len(args) > 0 && args[0] == "generate":
		return generate(ctx, args[1:], os.Getenv, os.Stdout)
	}
	return errors.New(usage)
}

func oneLine(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + " …"
	}
	return message
}
