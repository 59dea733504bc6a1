// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command has the flags of the page's binary and starts its parts.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/hub"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/server"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// Version is the version of this module. A release changes it here.
const Version = "0.1.0"

// Program describes the binary. It writes nothing, so every replica serves, without a leader.
func Program() boot.Program {
	return boot.Program{
		Name: "page", Version: Version, MetricsPort: 8443, HealthPort: 8081,
		GCPercent: 25, // decoding leaves much garbage, and memory costs more than time here
	}
}

// Command holds the binary's flags.
type Command struct{ Flags }

// New returns the command with its defaults.
func New() *Command { return &Command{} }

// Run works until ctx ends.
func (c *Command) Run(ctx context.Context, env *boot.Env) error {
	namespace := cmp.Or(c.leaseNamespace, env.Namespace())
	if namespace == "" {
		return errors.New("not in a pod: --lease-namespace has to name the namespace of the Leases of propagation and aggregation")
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), clusterv1.Install(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	clusters, err := slim.ManagedClusters(env.Config)
	if err != nil {
		return err
	}
	mgr, err := boot.NewManager(ctx, env, boot.Kinds{
		Scheme: scheme,
		Cache: cache.Options{
			ByObject: map[client.Object]cache.ByObject{&clusterv1.ManagedCluster{}: hub.ClusterCache()}, NewInformer: slim.Informers(clusters),
		},
		Warm: []client.Object{&clusterv1.ManagedCluster{}},
	})
	if err != nil {
		return err
	}
	log, fleet := env.Log.WithName("page"), model.NewFleet()
	apps, err := hub.NewApplications(mgr.GetConfig(), fleet)
	if err != nil {
		return err
	}
	identity, err := access.New(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	leases := &hub.Leases{Live: mgr.GetAPIReader(), Namespace: namespace, Log: log}
	s, err := server.New(server.Options{
		Fleet: fleet, Identity: identity, Synced: apps.Synced, Leases: leases.Known, Resources: hub.Reports{Live: mgr.GetAPIReader()}.Resources,
		Hosts: c.names(), Secure: c.secure, ArgoCDURL: hub.Linkable(c.argocdURL), Log: log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(
		hub.FollowClusters(ctx, mgr.GetCache(), fleet), mgr.AddReadyzCheck("applications", apps.Check),
		mgr.Add(apps), mgr.Add(leases), mgr.Add(&listener{flags: &c.Flags, handler: s.Handler(), log: log, retry: retryAfter}), //nolint:contextcheck // each request has its own
	); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
