// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release builds the images of multicluster-integrations and the files of a release. It needs Go and git, and
// no container engine. Other tools do the rest: cosign signs, helm pushes the chart, and the forge attests.
//
//	release images  -out DIR                            the images as OCI layouts
//	release make    -version VERSION -registry REGISTRY a whole release, from a clean checkout
//	release archive -from DIR -out FILE                 layouts as one archive, in the format of docker save
//	release push    -from DIR -registry REGISTRY        layouts and chart to a registry
//	release olm     -out DIR                            the bundle for OLM, from the present checkout
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/bundle"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // nothing has to be stopped
	}
}

func run(ctx context.Context, arguments []string) error {
	commands := map[string]func(context.Context, []string) error{"images": images, "archive": archive, "push": push, "make": makeRelease, "olm": makeOLM}
	if len(arguments) > 0 {
		if command, ok := commands[arguments[0]]; ok {
			return command(ctx, arguments[1:])
		}
	}
	return fmt.Errorf("name a command: images, archive, push, make or olm; each prints its flags with -h")
}

// common has the flags of the commands that build.
type common struct {
	root, out, architectures string
	options                  bundle.Options
}

func (c *common) bind(flags *flag.FlagSet, out string) {
	flags.StringVar(&c.root, "root", "../..", "root of the checkout")
	flags.StringVar(&c.out, "out", out, "folder to write to")
	flags.StringVar(&c.architectures, "architectures", "amd64,arm64,ppc64le,s390x", "architectures of linux, with commas")
	flags.StringVar(&c.options.Source, "source", "", "public address of the repository, for labels")
}

func (c *common) open(ctx context.Context) (*source.Tree, error) {
	c.options.Architectures = strings.Split(c.architectures, ",")
	return source.Open(ctx, c.root)
}

func images(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("images", flag.ExitOnError)
	var c common
	c.bind(flags, "../../bin/images")
	only := flags.String("containers", "", "containers, with commas; empty: all")
	flags.StringVar(&c.options.Tag, "tag", "", "tag of the images; empty: the version of the containers")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	tree, err := c.open(ctx)
	if err != nil {
		return err
	}
	if c.options.Tag == "" {
		c.options.Tag = tree.Version
	}
	built := 0
	for _, container := range tree.Containers {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), container.Name) {
			continue
		}
		reference, err := bundle.Build(ctx, tree, container, c.out, c.options)
		if err != nil {
			return err
		}
		fmt.Printf("%s:%s@%s\n", reference.Published, reference.Tag, reference.Digest)
		built++
	}
	if built == 0 {
		return fmt.Errorf("no container is called %q; there are %v", *only, tree.Containers)
	}
	return nil
}

func makeRelease(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("make", flag.ExitOnError)
	var c common
	var q bundle.Request
	c.bind(flags, "")
	flags.StringVar(&q.Version, "version", "", "version of the release, 1.2.3 or 1.2.3-rc.1")
	flags.StringVar(&q.Registry, "registry", "", "host of the registry, with the path below which the images will go")
	flags.StringVar(&q.Kustomize, "kustomize", "../../bin/kustomize", "path of kustomize")
	flags.Lookup("out").Usage = "folder to write files and images to, in place of those that are there; empty: bin/release/<version> of the checkout"
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	tree, err := c.open(ctx)
	if err != nil {
		return err
	}
	q.Options, q.Out = c.options, c.out
	if q.Out == "" {
		q.Out = filepath.Join(tree.Root, "bin", "release", q.Version)
	}
	references, err := bundle.Release(ctx, tree, q)
	if err != nil {
		return err
	}
	for _, r := range references {
		fmt.Println(r.Pinned())
	}
	fmt.Println(q.Out)
	return nil
}

// archive names images as the manifests of the checkout do, unless a flag sets another registry.
func archive(_ context.Context, arguments []string) error {
	flags := flag.NewFlagSet("archive", flag.ExitOnError)
	from := flags.String("from", "../../bin/images", "folder of the layouts")
	out := flags.String("out", "../../bin/images.tar", "file to write to")
	registry := flags.String("registry", bundle.Placeholder, "host of the registry in the names of the images, with a path")
	architecture := flags.String("architecture", runtime.GOARCH, "architecture of linux")
	only := flags.String("containers", "", "containers, with commas; empty: all")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	var containers []string
	if *only != "" {
		containers = strings.Split(*only, ",")
	}
	names, err := store.Archive(*from, *out, *registry, *architecture, containers)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(names, "\n"))
	return nil
}

func push(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("push", flag.ExitOnError)
	from := flags.String("from", "../../bin/images", "folder of the layouts")
	registry := flags.String("registry", "", "host of the registry, with the path below which the images go")
	chart := flags.String("chart", "", "archive of the chart, <name>-<version>.tgz; empty: push none")
	helm := flags.String("helm", "../../bin/helm", "path of helm, which pushes the chart")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *registry == "" {
		return fmt.Errorf("name the registry with -registry")
	}
	if err := store.Push(ctx, *from, *registry, func(reference string) { fmt.Println(reference) }); err != nil || *chart == "" {
		return err
	}
	return pushChart(ctx, *helm, *chart, *registry)
}

// pushChart pushes a chart with helm, unless the registry has it. helm would move the tag.
func pushChart(ctx context.Context, helm, archive, registry string) error {
	content, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), bundle.Project+"-"), ".tgz")
	tag, err := name.NewTag(registry + "/charts/" + bundle.Project + ":" + version)
	if err != nil {
		return err
	}
	there, err := store.ChartThere(ctx, tag, v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(content))})
	if err != nil || there {
		return err
	}
	command := exec.CommandContext(ctx, helm, "push", archive, "oci://"+registry+"/charts")
	if tag.Scheme() == "http" { // loopback
		command.Args = append(command.Args, "--plain-http")
	}
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s push %s: %w", helm, archive, err)
	}
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
	tree, err := c.open(ctx)
	if err != nil {
		return err
	}
	return bundle.WriteOLM(ctx, tree, *kustomize, *version, c.out, c.options)
}
