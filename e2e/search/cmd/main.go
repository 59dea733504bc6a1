// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd serves the stand-in for search v2 by hand, until it is
// interrupted:
//
//	go run ./search/cmd --hub hub.kubeconfig --cluster cluster1=c1.kubeconfig
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	options := search.Options{Clusters: map[string]*rest.Config{}, Log: logr.Discard()}
	flags := flag.NewFlagSet("search", flag.ContinueOnError)
	hub := flags.String("hub", "", "kubeconfig of the hub")
	flags.StringVar(&options.Address, "address", "", "host and port to listen on (default a free port)")
	flags.Func("cluster", "name=kubeconfig of a managed cluster; may be given several times", func(value string) error {
		name, path, ok := strings.Cut(value, "=")
		if !ok {
			return fmt.Errorf("%q is not name=kubeconfig", value)
		}
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		options.Clusters[name] = config
		return nil
	})
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	var err error
	if options.Hub, err = clientcmd.BuildConfigFromFlags("", *hub); err != nil {
		return fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	server, err := search.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Printf("--search-url=%s --search-ca-file=%s\n", server.URL(), server.CAFile())
	<-ctx.Done()
	return server.Close()
}
