// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"path/filepath"
)

// HubKubeconfig returns the path of the kubeconfig that the agents of a managed cluster use for the
// hub.
func (c *Cluster) HubKubeconfig() string { return filepath.Join(c.folder, "hub", "kubeconfig") }

// StartProductOn starts one binary of the product with extra arguments on a hub. The product must be
// installed (see [Cluster.Install]), and the binary must not run there. number distinguishes the process
// ("propagation-<number>") from the processes of the pods. It returns when the binary is ready.
func (pr *Product) StartProductOn(ctx context.Context, hub *Cluster, name string, number int, arguments ...string) error {
	identity, err := pr.processes.identity(ctx, hub, ProductNamespace, Account(name), shortLife)
	if err != nil {
		return err
	}
	return pr.startReplica(ctx, name, pr.processes.options.Sources, identity, number, arguments...)
}

// StartStandby starts another replica of one binary of the product, with extra arguments and the identity of
// the first replica. number distinguishes its process ("aggregation-<number>").
func (pr *Product) StartStandby(ctx context.Context, name string, number int, arguments ...string) (*Process, error) {
	if err := pr.startReplica(ctx, name, pr.processes.options.Sources, kubeconfigFile(pr.hub, Account(name)), number, arguments...); err != nil {
		return nil, err
	}
	return pr.processes.Get(fmt.Sprintf("%s-%d", name, number))
}

// StartPod starts another replica of the product's binaries, as in a separate pod. sources names the checkout
// of each binary. number distinguishes its processes ("propagation-<number>") and its folder of intermediate
// reports from other pods. It returns when all binaries are ready.
func (pr *Product) StartPod(ctx context.Context, number int, sources map[string]string) error {
	stages := make([]stage, 0, len(sources))
	for name, root := range sources {
		stages = append(stages, func(ctx context.Context) error {
			return pr.startReplica(ctx, name, root, kubeconfigFile(pr.hub, Account(name)), number)
		})
	}
	return parallel(ctx, stages...)
}

// StopPod stops the binaries of a pod and waits until they have exited.
func (pr *Product) StopPod(ctx context.Context, number int) error {
	stages := make([]stage, 0, len(pr.processes.options.Product))
	for _, name := range pr.processes.options.Product {
		if name == Page {
			continue // has a separate pod
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
