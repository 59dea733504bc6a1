// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// StartProduct starts one binary of the product with extra arguments, for a fleet
// whose [Options.Product] leaves it out: its identity and rights are the ones that
// it would have had from the start. It returns when the binary is ready.
func (f *Fleet) StartProduct(ctx context.Context, name string, arguments ...string) (*Process, error) {
	identity, err := f.productIdentity(ctx, f.Hub, name)
	if err != nil {
		return nil, err
	}
	if err := f.startReplica(ctx, name, f.options.Sources, identity, 0, arguments...); err != nil {
		return nil, err
	}
	return f.Process(name + "-0")
}

// StartStandby starts one binary of the product once more, with extra arguments and the
// identity of the first. number tells its process ("aggregation-<number>") from others.
func (f *Fleet) StartStandby(ctx context.Context, name string, number int, arguments ...string) (*Process, error) {
	if err := f.startReplica(ctx, name, f.options.Sources, kubeconfigFile(f.Hub, name), number, arguments...); err != nil {
		return nil, err
	}
	return f.Process(fmt.Sprintf("%s-%d", name, number))
}

// StartPod starts the product's binaries once more, as if in a pod of its own: sources
// says for each from which checkout. number, past those of the other pods, tells its
// processes ("propagation-<number>") and its folder of intermediate reports from
// theirs. It returns when all are ready.
func (f *Fleet) StartPod(ctx context.Context, number int, sources map[string]string) error {
	stages := make([]stage, 0, len(sources))
	for name, root := range sources {
		stages = append(stages, func(ctx context.Context) error {
			return f.startReplica(ctx, name, root, kubeconfigFile(f.Hub, name), number)
		})
	}
	return parallel(ctx, stages...)
}

// StopPod asks the binaries of a pod to end, and waits for them.
func (f *Fleet) StopPod(ctx context.Context, number int) error {
	stages := make([]stage, 0, len(f.options.Product))
	for _, name := range f.options.Product {
		stages = append(stages, func(ctx context.Context) error {
			p, err := f.Process(fmt.Sprintf("%s-%d", name, number))
			if err != nil {
				return err
			}
			return p.Stop(ctx)
		})
	}
	return parallel(ctx, stages...)
}

// HubKubeconfig returns the path of the kubeconfig by which the agents of a managed
// cluster know the hub.
func (c *Cluster) HubKubeconfig() string { return filepath.Join(c.folder, "hub", "kubeconfig") }

// FreePort returns a port that is free on this machine, for the caller's own use.
func (f *Fleet) FreePort() (int, error) { return f.port() }

// Flag returns the value of a command-line argument "--name=value" of the process,
// the last one when there are several; "" when there is none.
func (p *Process) Flag(name string) string {
	value := ""
	for _, argument := range p.spec.Args {
		if v, ok := strings.CutPrefix(argument, "--"+name+"="); ok {
			value = v
		}
	}
	return value
}
