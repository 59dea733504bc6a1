// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// NodeName is the node of every managed cluster. Pods name it themselves, because the clusters have no
// scheduler.
const NodeName = "fake-1"

// startNode starts kwok, which acts as the node of a managed cluster, so that Deployments become available.
func (ps *Processes) startNode(ctx context.Context, c *Cluster) (err error) {
	defer must.Return(&err)
	binary := must.Get(part("kwok"))
	port := must.Get(ps.FreePort())
	stages := must.Get(filepath.Glob(filepath.Join(testkit.Root(), "bin", "kwok-stages", "*.yaml")))
	args := slices.Grow([]string{
		binary, "--kubeconfig=" + c.Kubeconfig, "--manage-all-nodes=true", "--node-lease-duration-seconds=0",
		"--server-address=" + local(port), "--cidr=10.0.0.1/24", "--node-ip=127.0.0.1",
	}, len(stages))
	for _, stage := range stages {
		args = append(args, "--config="+stage)
	}
	p := must.Get(ps.run(ctx, command{name: c.Name + "-kwok", args: args}))
	must.OK(c.applyInstall(ctx, "node.yaml"))
	return p.explain(Wait(ctx, "the node of "+c.Name, func(ctx context.Context) (bool, string) {
		node := &corev1.Node{}
		if err := c.Client.Get(ctx, client.ObjectKey{Name: NodeName}, node); err != nil {
			return false, err.Error()
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return true, ""
			}
		}
		return false, fmt.Sprint(node.Status.Conditions)
	}))
}
