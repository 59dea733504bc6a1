// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/bundle"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/sign"
)

// passwordVariable is where cosign, too, looks for the password of a key.
const passwordVariable = "COSIGN_PASSWORD"

func makeRelease(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("make", flag.ExitOnError)
	var c common
	var q bundle.Request
	c.bind(flags, "")
	flags.StringVar(&q.Version, "version", "", "version of the release, 1.2.3 or 1.2.3-rc.1")
	flags.StringVar(&q.Registry, "registry", "", "host of the registry, with the path below which the images will go; a version that it has already is not built again")
	flags.StringVar(&q.Kustomize, "kustomize", "../../bin/kustomize", "path of kustomize")
	key := flags.String("key", "", "private key in cosign's format, its password in "+passwordVariable+"; empty: sign nothing")
	flags.Lookup("containers").Usage = "one container to release alone; empty: all, with manifests and chart"
	flags.Lookup("out").Usage = "folder to write to; empty: bin/release/<version> of the checkout"
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	tree, _, err := c.open(ctx)
	if err != nil {
		return err
	}
	q.Options, q.Container, q.Out = c.options, c.containers, c.out
	if q.Out == "" {
		q.Out = filepath.Join(tree.Root, "bin", "release", filepath.Join(q.Container, q.Version))
	}
	if *key != "" {
		text, err := os.ReadFile(*key)
		if err != nil {
			return fmt.Errorf("read the signing key: %w", err)
		}
		if q.Key, err = sign.ReadKey(text, []byte(os.Getenv(passwordVariable))); err != nil {
			return err
		}
	}
	references, err := bundle.Release(ctx, tree, q)
	if err != nil {
		return err
	}
	for _, r := range references {
		fmt.Printf("%s %s %s\n", r.Container, r.Tag, r.Pinned())
	}
	fmt.Println(q.Out)
	return nil
}

func makeOLM(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("olm", flag.ExitOnError)
	var c common
	c.bind(flags, "../../bin/olm")
	version := flags.String("version", "0.0.0", "version of the bundle, 1.2.3 or 1.2.3-rc.1")
	kustomize := flags.String("kustomize", "../../bin/kustomize", "path of kustomize")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	tree, _, err := c.open(ctx)
	if err != nil {
		return err
	}
	return bundle.WriteOLM(ctx, tree, *kustomize, *version, c.out, c.options)
}

func makeKey(_ context.Context, arguments []string) error {
	flags := flag.NewFlagSet("key", flag.ExitOnError)
	out := flags.String("out", ".", "folder for cosign.key and cosign.pub; the password is in "+passwordVariable)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	password := os.Getenv(passwordVariable)
	if password == "" {
		return errors.New("set " + passwordVariable + " to the password of the new key")
	}
	path := filepath.Join(*out, "cosign.key")
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s is there already; it is not overwritten", path)
	}
	key, private, err := sign.NewKey([]byte(password))
	if err != nil {
		return err
	}
	public, err := key.Public()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, private, 0o600), os.WriteFile(filepath.Join(*out, "cosign.pub"), public, 0o644))
}
