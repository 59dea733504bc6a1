// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command has the flags of the placement binary and starts its controller.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/appset"
	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/refresh"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Version is the version of this module. A release changes it here.
const Version = "0.1.0"

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{Name: "placement", Version: Version, MetricsPort: 8443, HealthPort: 8081, LeaseName: "multicluster-integrations-placement"}
}

// Command holds the binary's flags.
type Command struct{ argocd boot.Names }

// New returns the command with its defaults.
func New() *Command { return &Command{argocd: boot.Names{"argocd"}} }

// BindFlags adds the binary's own flags.
func (c *Command) BindFlags(fs *flag.FlagSet) {
	fs.Var(c.argocd.Flag(), "argocd-namespace", "`namespace` of the hub's Argo CD, where generators of its ApplicationSets read placement decisions, whatever namespace the ApplicationSets are in; may be repeated, or separated by commas, for further Argo CDs")
}

// Validate returns an error that names every flag with an invalid value.
func (c *Command) Validate() error { return c.argocd.Validate("argocd-namespace") }

// Run works until ctx ends.
func (c *Command) Run(ctx context.Context, env *boot.Env) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), clusterv1beta1.Install(scheme), appset.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	namespaces, err := env.Watchable(ctx, c.argocd, metav1.GroupResource{Resource: "secrets"}, metav1.GroupResource{Resource: "configmaps"},
		metav1.GroupResource{Group: clusterv1beta1.GroupName, Resource: "placementdecisions"})
	if err != nil {
		return err
	}
	watched := refresh.Caches(namespaces)
	warm := make([]client.Object, 0, len(watched))
	for object := range watched {
		warm = append(warm, object)
	}
	mgr, err := boot.NewManager(ctx, env, boot.Kinds{
		Scheme: scheme,
		Cache:  cache.Options{ByObject: watched, DefaultTransform: cache.TransformStripManagedFields()},
		Warm:   warm,
	})
	if err != nil {
		return err
	}
	if err := refresh.Setup(mgr, namespaces); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
