// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command backing is everything a fleet on one machine needs behind its real parts, in one small process: an etcd for all
// API servers (each with its own --etcd-prefix), one Redis per Argo CD application controller, and a git server over HTTP.
//
// It listens on loopback addresses only. A port 0 means "any free one". Once everything answers, one line of JSON on
// standard output says where:
//
//	{"etcd":"http://127.0.0.1:38113","redis":["127.0.0.1:40001","127.0.0.1:40002"],"git":"http://127.0.0.1:40003"}
//
// It ends with status 0 on SIGTERM, on SIGINT and when its standard input closes, so that it never outlives the process
// that holds the other end of that pipe, however that process ended. Nothing in it is durable: etcd does not sync to disk.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// options are the command line.
type options struct {
	etcdDir    string
	etcdClient string
	etcdPeer   string
	redis      string
	git        string
	gitRoot    string
}

// bindFlags registers one flag per option.
func (o *options) bindFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.etcdDir, "etcd-dir", "", "folder for etcd's data; empty: no etcd")
	fs.StringVar(&o.etcdClient, "etcd-client", "127.0.0.1:0", "address etcd serves clients on")
	fs.StringVar(&o.etcdPeer, "etcd-peer", "127.0.0.1:0", "address etcd serves peers on (it has none, yet insists)")
	fs.StringVar(&o.redis, "redis", "", "addresses of Redis servers, comma separated; empty: none")
	fs.StringVar(&o.git, "git", "127.0.0.1:0", "address the git repositories are served on")
	fs.StringVar(&o.gitRoot, "git-root", "", "folder that holds the git repositories; empty: no git server")
}

// ready is the line that tells the parent where everything listens.
type ready struct {
	Etcd  string   `json:"etcd,omitempty"`
	Redis []string `json:"redis,omitempty"`
	Git   string   `json:"git,omitempty"`
}

func main() {
	var o options
	o.bindFlags(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(untilClosed(ctx, os.Stdin), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "backing:", err)
		stop()
		os.Exit(1)
	}
}

// run starts what the options ask for, reports it on out and serves until ctx ends or a server fails.
func run(ctx context.Context, o options, out io.Writer) error {
	var at ready
	failed := make(chan error, 2)
	if o.etcdDir != "" {
		etcd, err := startEtcd(ctx, o.etcdDir, o.etcdClient, o.etcdPeer)
		if err != nil {
			return err
		}
		defer etcd.Close()
		at.Etcd = "http://" + etcd.Clients[0].Addr().String()
		go func() { failed <- <-etcd.Err() }()
	}
	for addr := range strings.SplitSeq(o.redis, ",") {
		if addr == "" {
			continue
		}
		server, err := startRedis(ctx, addr)
		if err != nil {
			return err
		}
		defer server.Close()
		at.Redis = append(at.Redis, server.Addr())
	}
	if o.gitRoot != "" {
		listener, handler, err := gitServer(ctx, o.git, o.gitRoot)
		if err != nil {
			return err
		}
		defer func() { _ = listener.Close() }()
		at.Git = "http://" + listener.Addr().String()
		go func() { failed <- serve(listener, handler) }()
	}
	if err := json.NewEncoder(out).Encode(at); err != nil {
		return fmt.Errorf("report the addresses: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		if ctx.Err() != nil {
			return nil
		}
		return errors.Join(errors.New("a server stopped by itself"), err)
	}
}

// untilClosed returns a context that ends with parent or when in reaches its end.
func untilClosed(parent context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in) // any way for it to end means that the parent is gone
	}()
	return ctx
}
