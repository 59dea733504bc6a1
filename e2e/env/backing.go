// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"strings"
)

// startBacking starts etcd for every API server and, for a whole fleet, Redis and git.
func (f *Fleet) startBacking(ctx context.Context) error {
	binary, err := part("backing")
	if err != nil {
		return err
	}
	ports, err := f.takePorts(3 + len(f.Managed) + len(f.generations()))
	if err != nil {
		return err
	}
	args := []string{binary, "--etcd-dir", f.path("etcd"), "--etcd-client", local(ports[0]), "--etcd-peer", local(ports[1])}
	f.backing.etcd = "http://" + local(ports[0])
	if !f.options.HubOnly {
		if f.Git, err = newRepository(ctx, f.path("git")); err != nil {
			return err
		}
		f.backing.git = "http://" + local(ports[2])
		for _, port := range ports[3:] {
			f.backing.redis = append(f.backing.redis, local(port))
		}
		args = append(args, "--git", local(ports[2]), "--git-root", f.path("git"), "--redis", strings.Join(f.backing.redis, ","))
	}
	p, err := f.run(ctx, command{name: "backing", args: args})
	if err != nil {
		return err
	}
	return p.awaitHTTP(ctx, f.backing.etcd+"/health")
}
