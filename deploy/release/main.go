// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release builds the images of multicluster-integrations and puts a release
// together. It needs Go and git, and no container engine.
//
//	release images  -out DIR                        the images as OCI layouts
//	release push    -from DIR -registry HOST/PATH   layouts to a registry
//	release make    -version VERSION                a whole release, from a clean checkout
//	release olm     -out DIR                        the bundle for OLM, of the checkout as it is
//	release key     -out DIR                        a pair of keys to sign with, as cosign makes it
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/bundle"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be stopped
	}
}

func run(ctx context.Context, arguments []string) error {
	commands := map[string]func(context.Context, []string) error{"images": images, "push": push, "make": makeRelease, "olm": makeOLM, "key": makeKey}
	if len(arguments) > 0 {
		if command, ok := commands[arguments[0]]; ok {
			return command(ctx, arguments[1:])
		}
	}
	return fmt.Errorf("name a command: images, push, make, olm or key; each prints its flags with -h")
}

// common are the flags of the commands that build.
type common struct {
	root, out, containers, architectures string
	options                              bundle.Options
}

func (c *common) bind(flags *flag.FlagSet, out string) {
	flags.StringVar(&c.root, "root", "../..", "root of the checkout")
	flags.StringVar(&c.out, "out", out, "folder to write to")
	flags.StringVar(&c.containers, "containers", "", "containers, with commas; empty: all")
	flags.StringVar(&c.architectures, "architectures", "amd64,arm64,ppc64le,s390x", "architectures of linux, with commas")
	flags.StringVar(&c.options.Source, "source", "", "public address of the repository, for labels and provenance")
	flags.StringVar(&c.options.Builder, "builder", "local", "who builds, for the provenance")
}

func (c *common) open(ctx context.Context) (*source.Tree, []source.Container, error) {
	tree, err := source.Open(ctx, c.root)
	if err != nil {
		return nil, nil, err
	}
	c.options.Architectures = strings.Split(c.architectures, ",")
	if c.containers == "" {
		return tree, tree.Containers, nil
	}
	var wanted []source.Container
	for _, name := range strings.Split(c.containers, ",") {
		found, err := tree.Container(name)
		if err != nil {
			return nil, nil, err
		}
		wanted = append(wanted, found)
	}
	return tree, wanted, nil
}

func images(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("images", flag.ExitOnError)
	var c common
	c.bind(flags, "../../bin/images")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	tree, containers, err := c.open(ctx)
	if err != nil {
		return err
	}
	for _, container := range containers {
		built, err := bundle.Build(ctx, tree, container, c.options)
		if err != nil {
			return err
		}
		if err := built.Write(c.out); err != nil {
			return err
		}
		digest, err := built.Index.Digest()
		if err != nil {
			return err
		}
		fmt.Printf("%s:%s@%s\n", built.Repository(), built.Tag, digest)
	}
	return nil
}

func push(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("push", flag.ExitOnError)
	from := flags.String("from", "../../bin/images", "folder of the layouts")
	registry := flags.String("registry", "", "host of the registry, with the path below which the images go")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *registry == "" {
		return fmt.Errorf("name the registry with -registry")
	}
	return store.Push(ctx, *from, *registry, func(reference string) { fmt.Println(reference) })
}
