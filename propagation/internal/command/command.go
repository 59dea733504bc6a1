// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the propagation binary without its process: flags and what they start.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/agents"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/deliver"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/gitops"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/mirror"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/refreshes"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/register"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/unreachable"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Version of this module; a release changes it here.
const Version = "0.1.0"

// initialStatusTimeout is how long a managed cluster may take to report on a new
// Application before the hub says Unknown, where no others wait for it. An agent takes
// about five seconds.
const initialStatusTimeout = time.Minute

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{
		Name: "propagation", Version: Version, MetricsPort: 8443, HealthPort: 8081, LeaseName: "multicluster-integrations-propagation",
		GCPercent: 30, // decoding makes garbage of all that is not kept; memory is dearer than the time
	}
}

// Command holds the binary's flags.
type Command struct {
	argocd namespaces
	// InstanceLabel is the label key that the hub's Argo CD tracks resources by.
	InstanceLabel string
	// Rendered marks ManifestWorks of rendered mode whose cluster is not available.
	Rendered bool
	Deliver  deliver.Options
	GitOps   GitOps
}

// ArgoCDNamespaces are those of the hub's Argo CDs, that of the Applications first.
func (c *Command) ArgoCDNamespaces() []string { return c.argocd.names }

// New returns the command with its defaults.
func New() *Command { return &Command{argocd: namespaces{names: []string{"argocd"}}} }

// BindFlags adds the binary's own flags.
func (c *Command) BindFlags(fs *flag.FlagSet) {
	fs.Var(&c.argocd, "argocd-namespace", "`namespace` of the hub's Argo CD: of its AppProjects and cluster Secrets; may be repeated, or separated by commas, for further Argo CDs that GitOpsClusters register clusters with")
	fs.StringVar(&c.InstanceLabel, "argocd-instance-label-key", argocd.InstanceLabel, "label key that the hub's Argo CD tracks resources by (application.instanceLabelKey in argocd-cm); it is never copied from a ManagedCluster to its cluster Secret, nor delivered with an Application or AppProject")
	fs.BoolVar(&c.Rendered, "rendered", false, "mark ManifestWorks of rendered mode while their cluster is not available, so that Argo CD shows Unknown")
	c.Deliver.BindFlags(fs)
	c.GitOps.bindFlags(fs)
}

// Validate names every flag with an impossible value.
func (c *Command) Validate() error {
	err := c.GitOps.validate(c.argocd.names)
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
	argocd := c.argocd.names[0]
	watched := appcache.Caches(argocd)
	maps.Copy(watched, register.Caches(c.GitOps.Mode != GitOpsOff, c.argocd.names...))
	if c.GitOps.Mode == GitOpsAgent {
		maps.Copy(watched, agents.Caches(c.argocd.names))
	}
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
	if c.GitOps.Mode == GitOpsAgent {
		c.Deliver.AgentNamespaces = c.argocd.names
	}
	index, err := appcache.NewIndex(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	sent := &refreshes.Memory{}
	if err := deliver.Setup(ctx, mgr, index, sent, c.Deliver); err != nil {
		return fmt.Errorf("set up delivery: %w", err)
	}
	if err := mirror.Setup(ctx, mgr, index, mirror.Options{Concurrency: c.Deliver.Concurrency, InitialStatusTimeout: initialStatusTimeout, Refreshes: sent}); err != nil {
		return err
	}
	if err := c.setupRegistration(ctx, mgr, env); err != nil {
		return err
	}
	if c.Rendered {
		if err := unreachable.Setup(mgr, unreachable.Options{}); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

// setupRegistration adds what registers clusters with Argo CD.
func (c *Command) setupRegistration(ctx context.Context, mgr ctrl.Manager, env *boot.Env) error {
	options := register.Options{Namespaces: c.argocd.names, InstanceLabel: c.InstanceLabel}
	if c.GitOps.Mode != GitOpsOff {
		o := c.gitopsOptions()
		o.HubNamespace = env.Namespace()
		roster, err := gitops.Setup(ctx, mgr, o)
		if err != nil {
			return err
		}
		options.Scope, options.Again = roster, roster.Again()
	}
	return register.Setup(ctx, mgr, options)
}

// newScheme returns every type that the binary reads or writes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(corev1.AddToScheme(scheme), argocd.AddToScheme(scheme), v1beta1.AddToScheme(scheme),
		workv1.Install(scheme), clusterv1.Install(scheme), clusterv1beta1.Install(scheme),
		addonv1alpha1.Install(scheme), certificatesv1.AddToScheme(scheme), appsv1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	return scheme, nil
}
