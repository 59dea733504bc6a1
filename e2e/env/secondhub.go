// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// StartSecondHub starts the API server and controller manager of another hub. It installs the CRDs and
// namespaces of a hub, and the product's accounts with their permissions.
func (f *Fleet) StartSecondHub(ctx context.Context, name string) (_ *Cluster, err error) {
	defer must.Return(&err)
	port := must.Get(f.Processes.FreePort())
	hub := must.Get(newCluster(name, f.Processes.folder, port))
	must.OK(f.startControlPlane(ctx, hub, hubControllers))
	return hub, parallel(ctx,
		func(ctx context.Context) error { return hub.install(ctx, newest.crds("ocm-hub")) },
		func(ctx context.Context) error { return hub.install(ctx, f.Processes.options.ArgoCDCRDs) },
		func(ctx context.Context) error {
			return hub.Install(ctx, f.Processes.options.Sources, f.Processes.options.components()...)
		},
		func(ctx context.Context) error { return hub.applyInstall(ctx, "namespaces-hub.yaml", "ocm-hub.yaml") },
	)
}

// SwitchHub stops the agents of a managed cluster and starts a work agent for another hub, with further
// arguments. It skips the registration, and gives the agent a certificate of the other hub.
func (f *Fleet) SwitchHub(ctx context.Context, c, to *Cluster, arguments ...string) (err error) {
	defer must.Return(&err)
	for _, agent := range []string{"-registration-agent", "-work-agent"} {
		p := must.Get(f.Processes.Get(c.Name + agent))
		must.OK(p.Stop(ctx))
	}
	kubeconfig := must.Get(to.UserKubeconfig("agent-of-"+c.Name, "system:masters"))
	agent := must.Get(f.Processes.runOCM(ctx, c.parts, fmt.Sprintf("%s-work-agent-of-%s", c.Name, to.Name),
		append(c.workAgent(kubeconfigFile(c, "klusterlet-work"), kubeconfig, f.Processes.options), arguments...)...))
	return agent.ready(ctx)
}
