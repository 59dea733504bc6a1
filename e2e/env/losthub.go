// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// LostHub is the hub of a fleet that can lose all its data.
type LostHub struct{ Fleet *Fleet }

// Replace sets the hub up again at the same address. It kills the hub's processes and starts new ones with an
// empty etcd. It installs Open Cluster Management, Argo CD and the product, but not live view (see
// [Views.StartViewer]). Agents, git, Redis and search continue to run.
func (l LostHub) Replace(ctx context.Context) (err error) {
	defer must.Return(&err)
	f := l.Fleet
	server := must.Get(f.Processes.Get(f.Hub.Name + "-apiserver"))
	for _, p := range f.Processes.All() {
		if p != server && l.ran(p.Name) {
			must.OK(p.Kill(ctx))
		}
	}
	must.OK(server.Kill(ctx))
	f.etcd = must.Get(f.Processes.startEtcd(ctx, "etcd-of-the-new-hub"))
	f.Hub.serving = make(chan struct{})
	return f.startHub(ctx, make(chan struct{}))
}

// ran reports whether a process runs for the hub: a component of Open Cluster Management or Argo CD, or a
// binary of the product.
func (l LostHub) ran(process string) bool {
	return slices.ContainsFunc(append([]string{l.Fleet.Hub.Name, LiveView}, l.Fleet.Processes.options.Product...), func(name string) bool {
		rest, ok := strings.CutPrefix(process, name)
		return ok && (rest == "" || rest[0] == '-')
	})
}
