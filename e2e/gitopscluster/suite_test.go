// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"os"
	"testing"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

var (
	fleet *env.Fleet
	// hub is a client with add-ons in its scheme.
	hub client.WithWatch
	// peer is the principal.
	peer principal
)

func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{
		Old: []string{"cluster2"}, Product: []string{env.Propagation}, Agents: true,
		Arguments: map[string][]string{env.GitOpsCluster: {"--binding-grace=1s"}, env.Propagation: {"--binding-grace=1s"}},
	}, prepare))
}

// prepare gives the hub a principal and Placements, and binds the pods of agents on each managed cluster.
func prepare(ctx context.Context, f *env.Fleet) error {
	fleet = f
	scheme, err := env.Scheme()
	if err != nil {
		return err
	}
	if err := addonv1alpha1.Install(scheme); err != nil {
		return err
	}
	if hub, err = client.NewWithWatch(fleet.Hub.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, c := range fleet.Managed {
		go c.Bind(fleet.Processes.Context(), agentPods)
	}
	if err := fleet.Hub.ApplyFiles(ctx, "testdata/hub.yaml"); err != nil {
		return err
	}
	if err := scenario.InstallPrincipal(ctx, fleet.Hub, address); err != nil {
		return err
	}
	go peer.play(fleet.Processes.Context())
	return nil
}

// fleetContext ends with the test and with the fleet.
func fleetContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := context.AfterFunc(fleet.Processes.Context(), func() { cancel(fleet.Processes.Err()) })
	t.Cleanup(func() { stop(); cancel(nil) })
	return ctx
}

// program returns the process of gitopscluster.
func program(t *testing.T) *env.Process {
	t.Helper()
	p, err := fleet.Processes.Get(env.GitOpsCluster + "-0")
	must(t, err)
	return p
}

// onEachCluster runs a test on the cluster with the newest components and on the cluster with the oldest.
func onEachCluster(t *testing.T, test func(t *testing.T, c *env.Cluster)) {
	t.Helper()
	for _, c := range fleet.Managed {
		t.Run(c.Name, func(t *testing.T) { test(t, c) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
