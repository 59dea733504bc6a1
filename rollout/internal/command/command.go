// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the rollout binary without its process: what it starts.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/rollout/internal/controller"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// Version of this module; a release changes it here.
const Version = "0.1.0"

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{Name: "rollout", Version: Version, MetricsPort: 8443, HealthPort: 8081, LeaseName: "multicluster-integrations-rollout", GCPercent: 50}
}

// Command starts the controller, which has no flags of its own.
type Command struct{}

// New returns the command.
func New() *Command { return &Command{} }

// BindFlags adds nothing.
func (*Command) BindFlags(*flag.FlagSet) {}

// Validate accepts everything.
func (*Command) Validate() error { return nil }

// Run works until ctx ends.
func (*Command) Run(ctx context.Context, env *boot.Env) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	watched := controller.Caches()
	warm := make([]client.Object, 0, len(watched))
	for object := range watched {
		warm = append(warm, object)
	}
	informers, err := controller.Informers(env.Config)
	if err != nil {
		return err
	}
	mgr, err := boot.NewManager(ctx, env, boot.Kinds{
		Scheme: scheme,
		Cache:  cache.Options{ByObject: watched, DefaultTransform: cache.TransformStripManagedFields(), NewInformer: informers},
		Warm:   warm,
	})
	if err != nil {
		return err
	}
	if err := controller.Setup(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newScheme returns every type that the binary reads or writes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(argocd.AddToScheme(scheme), rollout.AddToScheme(scheme), workv1.Install(scheme), clusterv1.Install(scheme), clusterv1beta1.Install(scheme))
	if err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	return scheme, nil
}
