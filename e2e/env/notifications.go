// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// StartNotifications starts Argo CD's notifications controller on a cluster, with what
// argocd-notifications-cm says. Its port of metrics, which is all that it listens on, is
// reachable from other machines, too. It returns once the process runs.
func StartNotifications(ctx context.Context, f *Fleet, c *Cluster, config map[string]any) error {
	if err := c.applyInstall(ctx, "argocd-notifications.yaml"); err != nil {
		return err
	}
	settings := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": ArgoCDNamespace, "name": "argocd-notifications-cm"}, "data": config,
	}}
	if err := c.Apply(ctx, settings); err != nil {
		return err
	}
	binary, err := c.parts.part("argocd")
	if err != nil {
		return err
	}
	port, err := f.port()
	if err != nil {
		return err
	}
	identity, err := f.identity(ctx, c, ArgoCDNamespace, "argocd-notifications-controller", fleetLife)
	if err != nil {
		return err
	}
	repoServer, err := f.repoServers[c.parts].await(ctx)
	if err != nil {
		return err
	}
	_, err = f.run(ctx, command{
		name: c.Name + "-notifications",
		env:  []string{argocdName("notifications"), "KUBECONFIG=" + identity},
		args: []string{
			binary, "--kubeconfig", identity, "--namespace", ArgoCDNamespace, "--argocd-repo-server", repoServer, "--argocd-repo-server-plaintext",
			"--metrics-port", strconv.Itoa(port), "--processors-count", "4",
		},
	})
	return err
}
