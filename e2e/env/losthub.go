// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// LostHub is the hub of a fleet that loses everything.
type LostHub struct{ Fleet *Fleet }

// Replace sets the hub up anew at the same address. Its processes are killed. New ones start with an empty
// etcd, where Open Cluster Management, Argo CD and the product are installed, but for live view, see
// [Views.StartViewer]. Agents, git, Redis and search run on.
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

// ran reports whether a process is one of the hub's: a part of Open Cluster Management or Argo CD, or a
// binary of the product.
func (l LostHub) ran(process string) bool {
	return slices.ContainsFunc(append([]string{l.Fleet.Hub.Name, LiveView}, l.Fleet.Processes.options.Product...), func(name string) bool {
		rest, ok := strings.CutPrefix(process, name)
		return ok && (rest == "" || rest[0] == '-')
	})
}
