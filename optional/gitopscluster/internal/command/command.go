// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the gitopscluster binary without its process: the flags, and the parts that
// they start.
package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/gitops"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/register"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// Version is the version of this module. A release changes it here.
const Version = "0.1.0"

// These are values of --register.
const (
	RegisterAll            = "all"
	RegisterGitOpsClusters = "gitopsclusters"
)

// The leader holds a Lease, and records that in an Event.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{
		Name: "gitopscluster", Version: Version, MetricsPort: 8447, HealthPort: 8084, LeaseName: "multicluster-integrations-gitopscluster",
	}
}

// Command holds the binary's flags.
type Command struct {
	argocd boot.Names
	// InstanceLabel is the label key that the hub's Argo CD tracks resources by.
	InstanceLabel string
	// Agents installs argocd-agent on the clusters of GitOpsClusters that request it.
	Agents bool
	// Register is one of the values of --register.
	Register     string
	Adopt        bool
	Grace        time.Duration
	RemovalLimit limit.Limit
	// AgentLifetime and CALifetime are the lifetimes of certificates.
	AgentLifetime, CALifetime time.Duration
	// KeyNamespace is where the keys of CAs are.
	KeyNamespace string
}

// New returns the command with its defaults.
func New() *Command { return &Command{argocd: boot.Names{"argocd"}} }

// BindFlags adds the binary's own flags.
func (c *Command) BindFlags(fs *flag.FlagSet) {
	c.RemovalLimit = limit.Limit{Percent: 20, Least: 1}
	fs.Var(c.argocd.Flag(), "argocd-namespace", "`namespace` of the hub's Argo CD, where its cluster Secrets are; may be repeated, or separated by commas, for further Argo CDs")
	fs.StringVar(&c.InstanceLabel, "argocd-instance-label-key", argocd.InstanceLabel, "label key that the hub's Argo CD tracks resources by (application.instanceLabelKey in argocd-cm); it is never copied from a ManagedCluster to its cluster Secret")
	fs.BoolVar(&c.Agents, "agents", false, "install argocd-agent on the clusters of the GitOpsClusters that request it; without it their clusters are registered with Argo CD only")
	fs.StringVar(&c.Register, "register", RegisterAll, "which clusters are registered with Argo CD: all (every accepted one, in the first --argocd-namespace) or gitopsclusters (those that GitOpsClusters select, nothing else)")
	fs.BoolVar(&c.Adopt, "adopt-crd", false, "reconcile GitOpsClusters even while their CustomResourceDefinition is another project's; safe only where that project's controller does not run")
	fs.DurationVar(&c.Grace, "binding-grace", 5*time.Minute, "how long a cluster must be out of the Placement of its GitOpsCluster before it leaves; minutes, since a restored hub or a recreated Placement has its decisions back late")
	fs.Var(&c.RemovalLimit.Percent, "removal-limit", "how many `percent` of a GitOpsCluster's clusters, one at least, may leave it at a time; when more would, none leaves until its annotation apps.open-cluster-management.io/confirm-removal allows that number")
	fs.DurationVar(&c.AgentLifetime, "agent-certificate-lifetime", sign.DefaultLifetime, "how long the client certificate of an agent is valid; at least 1h, since managed clusters check every five minutes whether to renew theirs")
	fs.StringVar(&c.KeyNamespace, "ca-key-namespace", "", "`namespace` of the Secrets with the keys of CAs, argocd-agent-ca-<namespace of the Argo CD>; empty: the pod's own, outside of pods "+certificates.DefaultKeyNamespace)
	fs.DurationVar(&c.CALifetime, "ca-lifetime", 5*365*24*time.Hour, "how long a CA of a principal is valid that gitopscluster makes")
}

// Validate names every flag with an impossible value.
func (c *Command) Validate() error {
	err := c.argocd.Validate("argocd-namespace")
	if problems := validation.IsQualifiedName(c.InstanceLabel); len(problems) > 0 {
		err = errors.Join(err, fmt.Errorf("--argocd-instance-label-key %q: want a label key: %s", c.InstanceLabel, strings.Join(problems, "; ")))
	}
	if c.AgentLifetime < time.Hour {
		err = errors.Join(err, fmt.Errorf("--agent-certificate-lifetime %s: want 1h or more", c.AgentLifetime))
	}
	if c.CALifetime < c.AgentLifetime {
		err = errors.Join(err, fmt.Errorf("--ca-lifetime %s: want no less than --agent-certificate-lifetime", c.CALifetime))
	}
	if !slices.Contains([]string{RegisterAll, RegisterGitOpsClusters}, c.Register) {
		err = errors.Join(err, fmt.Errorf("--register %q: want %s or %s", c.Register, RegisterAll, RegisterGitOpsClusters))
	}
	if c.Grace < 0 {
		err = errors.Join(err, fmt.Errorf("--binding-grace %s: want 0 or more", c.Grace))
	}
	return err
}

// Run works until ctx ends.
func (c *Command) Run(ctx context.Context, env *boot.Env) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	resources := []metav1.GroupResource{{Resource: "secrets"}}
	if c.Agents {
		resources = append(resources, metav1.GroupResource{Resource: "services"}, metav1.GroupResource{Group: "apps", Resource: "deployments"})
	}
	if c.argocd, err = env.Watchable(ctx, c.argocd, resources...); err != nil {
		return err
	}
	watched := gitops.Caches(c.argocd...)
	if c.Agents {
		maps.Copy(watched, agents.Caches(c.argocd))
	}
	warm := []client.Object{&clusterv1beta1.PlacementDecision{}}
	for object := range watched {
		warm = append(warm, object)
	}
	informers, err := gitops.Informers(env.Config)
	if err != nil {
		return err
	}
	mgr, err := boot.NewManager(ctx, env, boot.Kinds{
		Scheme: scheme,
		Cache:  cache.Options{ByObject: watched, NewInformer: informers, DefaultTransform: intent.Transform},
		Warm:   warm,
	})
	if err != nil {
		return err
	}
	c.KeyNamespace = cmp.Or(c.KeyNamespace, env.Namespace())
	o := c.options()
	o.HubNamespace = env.Namespace()
	assignments, err := gitops.Setup(ctx, mgr, o)
	if err != nil {
		return err
	}
	if err := register.Setup(ctx, mgr, register.Options{Namespaces: c.argocd, InstanceLabel: c.InstanceLabel, Grace: c.Grace, Scope: assignments, Requeue: assignments.Requeue()}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// options returns the options of package gitops.
func (c *Command) options() gitops.Options {
	o := gitops.Options{
		Namespaces: c.argocd, Every: c.Register == RegisterAll, InstanceLabel: c.InstanceLabel,
		Grace: c.Grace, RemovalLimit: c.RemovalLimit, Adopt: c.Adopt,
	}
	if c.Agents {
		o.Agents = &agents.Options{KeyNamespace: c.KeyNamespace, CALife: c.CALifetime, Lifetime: c.AgentLifetime}
	}
	return o
}

// newScheme returns every type that the binary reads or writes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(corev1.AddToScheme(scheme), v1beta1.AddToScheme(scheme), argocd.AddToScheme(scheme),
		workv1.Install(scheme), clusterv1.Install(scheme), clusterv1beta1.Install(scheme),
		addonv1alpha1.Install(scheme), certificatesv1.AddToScheme(scheme), appsv1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	return scheme, nil
}
