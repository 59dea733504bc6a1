// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// inside runs everything; this program is the first of its namespaces.
func inside(ctx context.Context, o options) (err error) {
	if err := errors.Join(mounts(o.folder), network(ctx)); err != nil {
		return err
	}
	say("Starting the fleet: a hub without the product, a managed cluster, Open Cluster Management, Argo CD.")
	fleet, err := env.Start(ctx, env.Options{Clusters: []string{"cluster1"}, Product: []string{}, Node: true, SaveMemory: true, Progress: say})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			_, keepErr := fleet.KeepLogs()
			err = errors.Join(err, keepErr)
		}
		// The folder is busy with mounts, which end with the namespace: outside removes it.
		_ = fleet.Stop()
	}()
	began := time.Now()
	n, err := startNode(ctx, fleet, o)
	if err != nil {
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	view, err := scenario.Watch(watching, fleet)
	if err != nil {
		return err
	}
	p := &product{fleet: fleet, node: n, view: view, tag: o.nextTag}
	for i, step := range p.steps() {
		say(fmt.Sprintf("\n[%d/%d] %s", i+1, len(p.steps()), step.Title))
		if err := step.Run(ctx); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	say(fmt.Sprintf("\nAll steps succeeded, in %s.", time.Since(began).Round(100*time.Millisecond)))
	return nil
}

// mounts makes what programs write outside of the folder vanish with the namespace.
func mounts(folder string) error {
	upper, work := filepath.Join(folder, "var"), filepath.Join(folder, "var-work")
	if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(work, 0o700)); err != nil {
		return err
	}
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"", "/", "", syscall.MS_PRIVATE | syscall.MS_REC, ""},
		{"proc", "/proc", "proc", 0, ""},
		{"tmpfs", "/run", "tmpfs", 0, "mode=755"},
		{"overlay", "/var", "overlay", 0, "lowerdir=/var,upperdir=" + upper + ",workdir=" + work},
	} {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	return nil
}

// network brings loopback up, with the addresses of the API server's Service and the node.
func network(ctx context.Context) error {
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", env.ServiceAddress + "/32", "dev", "lo"},
		{"address", "add", nodeAddress + "/32", "dev", "lo"},
	} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	return nil
}
