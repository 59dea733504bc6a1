// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// startBacking starts one etcd for every API server. For a whole fleet it also creates the git repository,
// and starts a Redis for each Argo CD. Neither etcd nor Redis stores data durably.
func (f *Fleet) startBacking(ctx context.Context) (err error) {
	defer must.Return(&err)
	if f.etcd, err = f.Processes.startEtcd(ctx, "etcd"); err != nil || f.Processes.options.HubOnly {
		return err
	}
	f.Git = must.Get(newRepository(ctx, f.Processes.path("git")))
	for range len(f.Managed) + len(f.Processes.options.generations()) {
		address := must.Get(f.Processes.startRedis())
		f.redis = append(f.redis, address)
	}
	for i, c := range append(slices.Clone(f.Managed), f.Hub) {
		c.Redis = f.redis[i]
	}
	return nil
}

// startEtcd starts an etcd for all API servers, each with its own prefix. It does not sync to disk.
// Its limit is higher than the default of 2 GiB, which is small for a benchmark. It does not wait
// for an election, because it has one member.
func (ps *Processes) startEtcd(ctx context.Context, name string) (url string, err error) {
	defer must.Return(&err)
	binary := must.Get(part("etcd"))
	ports := must.Get(ps.takePorts(2))
	client, peer := "http://"+local(ports[0]), "http://"+local(ports[1])
	p := must.Get(ps.run(ctx, command{name: name, args: []string{
		binary, "--data-dir=" + ps.path(name), "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--unsafe-no-fsync", fmt.Sprintf("--quota-backend-bytes=%d", 8<<30), "--heartbeat-interval=10", "--election-timeout=100", "--log-level=error",
	}}))
	return client, p.awaitHTTP(ctx, client+"/health")
}

// startRedis starts a Redis in this program. It advances the time of miniredis, because otherwise
// keys would never expire, and Argo CD would keep a cached revision forever.
func (ps *Processes) startRedis() (address string, err error) {
	port, err := ps.FreePort()
	if err != nil {
		return "", err
	}
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(local(port)); err != nil {
		return "", fmt.Errorf("start Redis on %s: %w", local(port), err)
	}
	ps.workers.Go(func() {
		defer server.Close()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				server.FastForward(time.Second)
			case <-ps.ctx.Done():
				return
			}
		}
	})
	return server.Addr(), nil
}

// gitServer serves every repository below root for reading. It uses git's own http-backend, wherever this
// machine's git has it.
func gitServer(ctx context.Context, root string) (http.Handler, error) {
	path, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("look for git's programs (git --exec-path): %w", err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Git begins to answer before it has read the whole request.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1.1, the only served version, supports it
		backend.ServeHTTP(w, r)
	}), nil
}
