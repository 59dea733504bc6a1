// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command has the flags of the propagation binary and starts its controllers.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/deliver"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/mirror"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/register"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Version is the version of this module. A release changes it here.
const Version = "0.1.0"

// initialStatusTimeout is how long a managed cluster may take to report on a new Application before
// the hub shows Unknown, if no other Applications wait. An agent takes about five seconds.
const initialStatusTimeout = time.Minute

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{
		Name: "propagation", Version: Version, MetricsPort: 8443, HealthPort: 8081, LeaseName: "multicluster-integrations-propagation",
		GCPercent: 30, // decoding leaves much garbage, and memory costs more than time here
	}
}

// Command holds the binary's flags.
type Command struct {
	argocd boot.Names
	// InstanceLabel is the label key by which the hub's Argo CD tracks resources.
	InstanceLabel string
	// Register registers every accepted cluster with Argo CD. If gitopscluster is installed, that
	// does it instead.
	Register bool
	Deliver  deliver.Options
}

// ArgoCDNamespaces returns the namespaces of the hub's Argo CDs. The namespace of the Applications
// is the first.
func (c *Command) ArgoCDNamespaces() []string { return c.argocd }

// New returns the command with its defaults.
func New() *Command { return &Command{argocd: boot.Names{"argocd"}} }

// BindFlags adds the binary's own flags.
func (c *Command) BindFlags(fs *flag.FlagSet) {
	fs.Var(c.argocd.Flag(), "argocd-namespace", "`namespace` of the hub's Argo CD: of its AppProjects and cluster Secrets; with --register=false it may be repeated, or separated by commas, for further Argo CDs; their cluster Secrets show which clusters have an agent of argocd-agent")
	fs.StringVar(&c.InstanceLabel, "argocd-instance-label-key", argocd.InstanceLabel, "label key that the hub's Argo CD tracks resources by (application.instanceLabelKey in argocd-cm); it is never copied from a ManagedCluster to its cluster Secret, nor delivered with an Application or AppProject")
	c.Deliver.BindFlags(fs)
	fs.BoolVar(&c.Register, "register", true, "register every accepted ManagedCluster with Argo CD; --register=false where gitopscluster is installed, which registers them instead")
}

// Validate returns an error that names every flag with an invalid value.
func (c *Command) Validate() error {
	err := c.argocd.Validate("argocd-namespace")
	if c.Register && len(c.argocd) > 1 {
		err = errors.Join(err, fmt.Errorf("--argocd-namespace %s: clusters are registered with one Argo CD; further ones are for gitopscluster, with --register=false here", strings.Join(c.argocd, ",")))
	}
	if problems := validation.IsQualifiedName(c.InstanceLabel); len(problems) > 0 {
		err = errors.Join(err, fmt.Errorf("--argocd-instance-label-key %q: want a label key: %s", c.InstanceLabel, strings.Join(problems, "; ")))
	}
	return errors.Join(err, c.Deliver.Validate())
}

// Run works until ctx ends.
func (c *Command) Run(ctx context.Context, env *boot.Env) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	argocd, namespaces := c.argocd[0], c.argocd
	if !c.Register {
		if namespaces, err = env.Watchable(ctx, c.argocd, metav1.GroupResource{Resource: "secrets"}); err != nil {
			return err
		}
		c.Deliver.AgentNamespaces = namespaces
	}
	watched := appcache.Caches(argocd, c.Deliver.SizeLimit)
	maps.Copy(watched, register.Caches(!c.Register, namespaces...))
	warm := make([]client.Object, 0, len(watched))
	for object := range watched {
		warm = append(warm, object)
	}
	informers, err := appcache.Informers(env.Config)
	if err != nil {
		return err
	}
	mgr, err := boot.NewManager(ctx, env, boot.Kinds{
		Scheme:    scheme,
		Cache:     cache.Options{ByObject: watched, NewInformer: informers, DefaultTransform: cache.TransformStripManagedFields()},
		Warm:      warm,
		NewClient: appcache.NewClient,
	})
	if err != nil {
		return err
	}
	c.Deliver.ArgoCDNamespace, c.Deliver.HubNamespace, c.Deliver.InstanceLabel = argocd, env.Namespace(), c.InstanceLabel
	index, err := appcache.NewIndex(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	if err := deliver.Setup(ctx, mgr, index, c.Deliver); err != nil {
		return fmt.Errorf("set up delivery: %w", err)
	}
	if err := mirror.Setup(ctx, mgr, index, mirror.Options{Concurrency: c.Deliver.Concurrency, InitialStatusTimeout: initialStatusTimeout}); err != nil {
		return err
	}
	if c.Register {
		if err := register.Setup(mgr, register.Options{Namespace: argocd, InstanceLabel: c.InstanceLabel}); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

// newScheme returns every type that the binary reads or writes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(corev1.AddToScheme(scheme), argocd.AddToScheme(scheme),
		workv1.Install(scheme), clusterv1.Install(scheme), clusterv1beta1.Install(scheme))
	if err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	return scheme, nil
}
