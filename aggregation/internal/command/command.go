// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the aggregation binary without its process: flags and what they start.
package command

import (
	"context"
	"flag"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Version of this module; a release changes it here.
const Version = "0.1.0"

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{Name: "aggregation", Version: Version, MetricsPort: 8445, HealthPort: 8083, LeaseName: "multicluster-integrations-aggregation"}
}

// Command holds the binary's flags.
type Command struct{}

// New returns the command with its defaults.
func New() *Command { return &Command{} }

// BindFlags adds the binary's own flags.
func (c *Command) BindFlags(*flag.FlagSet) {}

// Validate names every flag with an impossible value.
func (c *Command) Validate() error { return nil }

// Run works until ctx ends.
func (c *Command) Run(ctx context.Context, env *boot.Env) error {
	mgr, err := boot.NewManager(ctx, env, runtime.NewScheme(), cache.Options{})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
