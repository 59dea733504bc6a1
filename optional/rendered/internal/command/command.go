// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the rendered binary without its process: the flags, and the parts that they
// start.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/unreachable"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// Version is the version of this module. A release changes it here.
const Version = "0.1.0"

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{Name: "rendered", Version: Version, MetricsPort: 8443, HealthPort: 8081, LeaseName: "multicluster-integrations-rendered"}
}

// Command starts the controller, which has no additional flags.
type Command struct{}

// New returns the command.
func New() *Command { return &Command{} }

// BindFlags adds nothing.
func (*Command) BindFlags(*flag.FlagSet) {}

// Validate accepts everything.
func (*Command) Validate() error { return nil }

// Run works until ctx ends.
func (*Command) Run(ctx context.Context, env *boot.Env) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clusterv1.Install(scheme), workv1.Install(scheme)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	watched := unreachable.Caches()
	warm := make([]client.Object, 0, len(watched))
	for object := range watched {
		warm = append(warm, object)
	}
	clusters, err := slim.ManagedClusters(env.Config)
	if err != nil {
		return err
	}
	mgr, err := boot.NewManager(ctx, env, boot.Kinds{
		Scheme: scheme,
		Cache:  cache.Options{ByObject: watched, NewInformer: slim.Informers(clusters), DefaultTransform: cache.TransformStripManagedFields()},
		Warm:   warm,
	})
	if err != nil {
		return err
	}
	if err := unreachable.Setup(mgr, unreachable.Options{}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
