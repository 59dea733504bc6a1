// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// ReplaceHub plays a hub that is lost and set up anew at the same address. Its processes are killed. New ones
// start with an empty etcd, where Open Cluster Management, Argo CD and the product are installed, but for
// live view, see [Views.StartViewer]. Agents, git, Redis and search run on.
func (f *Fleet) ReplaceHub(ctx context.Context) (err error) {
	defer must.Return(&err)
	server := must.Get(f.Processes.Get(f.Hub.Name + "-apiserver"))
	for _, p := range f.Processes.All() {
		if p != server && f.ofHub(p.Name) {
			must.OK(p.Kill(ctx))
		}
	}
	must.OK(server.Kill(ctx))
	f.etcd = must.Get(f.Processes.startEtcd(ctx, "etcd-of-the-new-hub"))
	f.Hub.serving = make(chan struct{})
	return f.startHub(ctx, make(chan struct{}))
}

// ofHub reports whether a process is one of the hub's: a part of Open Cluster Management or Argo CD, or a
// binary of the product.
func (f *Fleet) ofHub(process string) bool {
	return slices.ContainsFunc(append([]string{f.Hub.Name, LiveView}, f.Processes.options.Product...), func(name string) bool {
		rest, ok := strings.CutPrefix(process, name)
		return ok && (rest == "" || rest[0] == '-')
	})
}
