// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"path/filepath"
)

// StartSecondHub starts the API server and controller manager of another hub, with the
// kinds and namespaces that a hub has and nothing in them.
func (f *Fleet) StartSecondHub(ctx context.Context, name string) (*Cluster, error) {
	port, err := f.FreePort()
	if err != nil {
		return nil, err
	}
	hub, err := newCluster(name, f.folder, port)
	if err != nil {
		return nil, err
	}
	if err := f.startControlPlane(ctx, hub, hubControllers); err != nil {
		return nil, err
	}
	return hub, parallel(ctx,
		func(ctx context.Context) error { return hub.install(ctx, newest.crds("ocm-hub")) },
		func(ctx context.Context) error { return hub.install(ctx, f.options.ArgoCDCRDs) },
		func(ctx context.Context) error {
			return hub.install(ctx, filepath.Join(f.options.Sources, "deploy", "base", "crd"))
		},
		func(ctx context.Context) error { return hub.applyInstall(ctx, "namespaces-hub.yaml", "ocm-hub.yaml") },
	)
}

// SwitchHub ends the agents of a managed cluster and starts a work agent that follows
// another hub, with further arguments. Registration is not played: the agent gets a
// certificate as it would have come of it.
func (f *Fleet) SwitchHub(ctx context.Context, c, to *Cluster, arguments ...string) error {
	for _, agent := range []string{"-registration-agent", "-work-agent"} {
		p, err := f.Process(c.Name + agent)
		if err != nil {
			return err
		}
		if err := p.Stop(ctx); err != nil {
			return err
		}
	}
	kubeconfig, err := to.UserKubeconfig("agent-of-"+c.Name, "system:masters")
	if err != nil {
		return err
	}
	agent, err := f.runOCM(ctx, c.parts, fmt.Sprintf("%s-work-agent-of-%s", c.Name, to.Name),
		append(c.workAgent(kubeconfigFile(c, "klusterlet-work"), kubeconfig, f.options), arguments...)...)
	if err != nil {
		return err
	}
	return agent.ready(ctx)
}
