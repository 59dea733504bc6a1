// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// etcdAttempts bounds how often another process may snatch a port between "free" and "ours".
	etcdAttempts = 5
	// etcdQuota is the size at which etcd refuses writes; its default of 2 GiB is small for a bench with many objects.
	etcdQuota = 8 << 30
	// headerTimeout bounds how long a git client may take to send its request line and headers.
	headerTimeout = 10 * time.Second
)

// startEtcd starts a single-member etcd in dir and returns once it serves. Port 0 stands for a free port.
func startEtcd(ctx context.Context, dir, client, peer string) (*embed.Etcd, error) {
	for attempt := 1; ; attempt++ {
		etcd, err := tryEtcd(ctx, dir, client, peer)
		if err == nil {
			return etcd, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || attempt == etcdAttempts {
			return nil, fmt.Errorf("start etcd in %s: %w", dir, err)
		}
	}
}

func tryEtcd(ctx context.Context, dir, client, peer string) (*embed.Etcd, error) {
	clientURL, err := concrete(ctx, client)
	if err != nil {
		return nil, err
	}
	peerURL, err := concrete(ctx, peer)
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = clientURL, clientURL
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = peerURL, peerURL
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.QuotaBackendBytes = etcdQuota
	cfg.LogLevel = "error"
	// A lone member has nobody to lose an election to: do not make it wait a second for the first one.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	case <-ctx.Done():
		etcd.Close()
		return nil, ctx.Err()
	}
}

// concrete turns an address into the URL list etcd wants, with a free port in the place of port 0: etcd advertises what it
// was told, not what it got.
func concrete(ctx context.Context, addr string) ([]url.URL, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", addr, err)
	}
	if port == "0" {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		_, port, err = net.SplitHostPort(listener.Addr().String())
		if err := errors.Join(err, listener.Close()); err != nil {
			return nil, err
		}
	}
	return []url.URL{{Scheme: "http", Host: net.JoinHostPort(host, port)}}, nil
}

// startRedis starts a Redis in memory. Its keys expire by the clock of the wall, as in the real one: miniredis stands still
// by itself, and Argo CD would believe a cached revision for ever.
func startRedis(ctx context.Context, addr string) (*miniredis.Miniredis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("start Redis on %s: %w", addr, err)
	}
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				server.FastForward(time.Second)
			case <-ctx.Done():
				return
			}
		}
	}()
	return server, nil
}

// gitServer returns a listener on addr and the handler that serves every repository under root for reading, by git's own
// http-backend from wherever this machine's git keeps it.
func gitServer(ctx context.Context, addr, root string) (net.Listener, http.Handler, error) {
	path, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("ask git for its programs (git --exec-path): %w", err)
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, fmt.Errorf("git root %s: %w", root, err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("serve git: %w", err)
	}
	return listener, &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + absolute, "GIT_HTTP_EXPORT_ALL=1"},
	}, nil
}

func serve(listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	return fmt.Errorf("serve git: %w", server.Serve(listener))
}
