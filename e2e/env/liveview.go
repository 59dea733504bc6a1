// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// LiveView is the viewer on the hub. The observers are named "<cluster>-observer".
const (
	LiveView = "liveview"
	observer = "observer"
)

// Views make the hub's Argo CD show pulled Applications, as an installation of deploy/components/liveview and
// deploy/liveview does.
type Views struct{ Fleet *Fleet }

// HubRedis returns the address of the Redis of the hub's Argo CD.
func (v Views) HubRedis() string { return v.Fleet.repoServers[newest].redis }

// ManagedRedis returns the address of the Redis that a managed cluster's application controller writes. It is
// "" for an unknown cluster.
func (v Views) ManagedRedis(name string) string {
	for i, c := range v.Fleet.Managed {
		if c.Name == name {
			return v.Fleet.redis[i]
		}
	}
	return ""
}

// Start starts an observer on each managed cluster, and the viewer on the hub with
// further arguments. It returns when all are ready.
func (v Views) Start(ctx context.Context, arguments ...string) error {
	stages := append(make([]stage, 0, 1+len(v.Fleet.Managed)), func(ctx context.Context) error { return v.StartViewer(ctx, arguments...) })
	for _, c := range v.Fleet.Managed {
		stages = append(stages, func(ctx context.Context) error { return v.startObserver(ctx, c) })
	}
	return parallel(ctx, stages...)
}

// StartViewer starts the viewer on the hub with further arguments.
func (v Views) StartViewer(ctx context.Context, arguments ...string) (err error) {
	defer must.Return(&err)
	must.OK(v.Fleet.Hub.Install(ctx, testkit.Root(), append(v.Fleet.Processes.options.components(), LiveView)...))
	identity := must.Get(v.Fleet.Processes.identity(ctx, v.Fleet.Hub, ProductNamespace, Account(LiveView), shortLife))
	arguments = append(leases(), arguments...)
	return v.run(ctx, LiveView, LiveView, identity, v.HubRedis(), arguments)
}

// startObserver installs deploy/liveview/observer.yaml and starts the observer as a process instead of a pod.
func (v Views) startObserver(ctx context.Context, c *Cluster) (err error) {
	defer must.Return(&err)
	objects := must.Get(ReadObjects(filepath.Join(testkit.Root(), "deploy", "liveview", "observer.yaml")))
	must.OK(c.Apply(ctx, withoutDeployments(objects)...))
	identity := must.Get(v.Fleet.Processes.identity(ctx, c, "multicluster-integrations-observer", observer, shortLife))
	return v.run(ctx, c.Name+"-"+observer, observer, identity, v.ManagedRedis(c.Name), nil)
}

func (v Views) run(ctx context.Context, name, binary, identity, redis string, arguments []string) (err error) {
	defer must.Return(&err)
	path := filepath.Join(testkit.Root(), "bin", "product", binary)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%s is not built: %w", binary, err)
	}
	ports := must.Get(v.Fleet.Processes.takePorts(2))
	p := must.Get(v.Fleet.Processes.run(ctx, command{name: name, args: append([]string{
		path, "--kubeconfig=" + identity, "--metrics-bind-address=" + local(ports[0]), "--health-probe-bind-address=" + local(ports[1]), "--redis=" + redis,
	}, arguments...)}))
	p.health = "http://" + local(ports[1]) + "/readyz"
	return p.AwaitReady(ctx)
}
