// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"path/filepath"
)

// HubKubeconfig returns the path of the kubeconfig by which the agents of a managed
// cluster know the hub.
func (c *Cluster) HubKubeconfig() string { return filepath.Join(c.folder, "hub", "kubeconfig") }

// StartProductOn starts one binary of the product on a hub with extra arguments, where it is
// installed, see [Cluster.Install], and does not run yet. number, past those of the pods,
// tells its process ("propagation-<number>") from theirs. It returns when the binary is ready.
func (pr *Product) StartProductOn(ctx context.Context, hub *Cluster, name string, number int, arguments ...string) error {
	identity, err := pr.processes.identity(ctx, hub, ProductNamespace, Account(name), shortLife)
	if err != nil {
		return err
	}
	return pr.startReplica(ctx, name, pr.processes.options.Sources, identity, number, arguments...)
}

// StartStandby starts one binary of the product once more, with extra arguments and the
// identity of the first. number tells its process ("aggregation-<number>") from others.
func (pr *Product) StartStandby(ctx context.Context, name string, number int, arguments ...string) (*Process, error) {
	if err := pr.startReplica(ctx, name, pr.processes.options.Sources, kubeconfigFile(pr.hub, Account(name)), number, arguments...); err != nil {
		return nil, err
	}
	return pr.processes.Get(fmt.Sprintf("%s-%d", name, number))
}

// StartPod starts the product's binaries once more, as if in a pod of its own: sources
// says for each from which checkout. number, past those of the other pods, tells its
// processes ("propagation-<number>") and its folder of intermediate reports from
// theirs. It returns when all are ready.
func (pr *Product) StartPod(ctx context.Context, number int, sources map[string]string) error {
	stages := make([]stage, 0, len(sources))
	for name, root := range sources {
		stages = append(stages, func(ctx context.Context) error {
			return pr.startReplica(ctx, name, root, kubeconfigFile(pr.hub, Account(name)), number)
		})
	}
	return parallel(ctx, stages...)
}

// StopPod asks the binaries of a pod to end, and waits for them.
func (pr *Product) StopPod(ctx context.Context, number int) error {
	stages := make([]stage, 0, len(pr.processes.options.Product))
	for _, name := range pr.processes.options.Product {
		if name == Page {
			continue // has a pod of its own
		}
		stages = append(stages, func(ctx context.Context) error {
			p, err := pr.processes.Get(fmt.Sprintf("%s-%d", name, number))
			if err != nil {
				return err
			}
			return p.Stop(ctx)
		})
	}
	return parallel(ctx, stages...)
}
