// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// These are the values of --cluster-binding.
const (
	BindingPlacement = "placement"
	BindingNone      = "none"
)

// recreateGrace is longer than kubectl replace --force takes, or the ApplicationSet controller to
// re-create an Application.
const recreateGrace = 5 * time.Second

// Options are the settings of delivery.
type Options struct {
	// ArgoCDNamespace is the namespace of the hub's Argo CD and of its AppProjects.
	ArgoCDNamespace string
	// InstanceLabel is the label key by which the hub's Argo CD tracks resources.
	InstanceLabel string
	// AppNamespaces are further namespaces on managed clusters that Applications outside the Argo
	// CD namespace may use, in addition to their own.
	AppNamespaces policy.AppNamespaces
	// AgentNamespaces are the namespaces with the cluster Secrets that name argocd-agents. If it is
	// empty, propagation does not search for agents.
	AgentNamespaces []string
	// Binding is [BindingPlacement] or [BindingNone].
	Binding string
	// BindingGrace is how long a permission must be lost before the delivery is removed.
	BindingGrace time.Duration
	// RecreateGrace is how long an Application must be gone before its delivery is removed, if no
	// finalizer delayed its deletion. It has no flag. Tests change it.
	RecreateGrace time.Duration
	// Concurrency is how many Applications are reconciled in parallel. With ten, the mirror gets
	// less of a busy API server than the agents do in a burst of statuses, and falls behind. Twenty
	// keep up.
	Concurrency int
	// Namespace and Project deliver the Namespace and the AppProject with the Application.
	Namespace, Project bool
	// SizeLimit is the highest number of bytes of manifests in a ManifestWork.
	SizeLimit int
	// sweepInterval replaces the constant [sweepInterval] in tests.
	sweepInterval time.Duration
	// Withdrawals limits how many deliveries are removed before an operator approves.
	Withdrawals budget.Settings
	// HubNamespace is where propagation runs. The annotation of that Namespace applies to the whole
	// hub, and the budget's memory is stored in it. If it is empty, nothing is stored.
	HubNamespace string
}

// BindFlags adds the flags of delivery to fs.
func (o *Options) BindFlags(fs *flag.FlagSet) {
	fs.Var(&o.AppNamespaces, "allowed-app-namespaces", "comma-separated `hub=target` pairs of namespaces: where Applications outside the Argo CD namespace may be delivered to besides their own namespace; hub may have *, ? and [sets], target is a namespace on the managed cluster; without any they stay in their namespace")
	fs.StringVar(&o.Binding, "cluster-binding", BindingPlacement, "what lets a namespace deliver to a cluster: placement (a PlacementDecision in the namespace selects it) or none (every namespace may)")
	fs.DurationVar(&o.BindingGrace, "binding-grace", 5*time.Minute, "how long a cluster must be without a PlacementDecision, or an AppProject must not allow the Application's namespace, before delivered Applications are withdrawn; minutes, since a restored hub or a recreated Placement has its decisions back late")
	o.RecreateGrace = recreateGrace
	fs.IntVar(&o.Concurrency, "max-concurrent-reconciles", 20, "maximum number of Applications that are delivered at a time, and whose status is mirrored at a time")
	fs.BoolVar(&o.Namespace, "deliver-namespace", true, "create the Application's namespace on the managed cluster")
	fs.BoolVar(&o.Project, "deliver-project", true, "deliver the AppProject that an Application names, unless it is \"default\"")
	fs.IntVar(&o.SizeLimit, "manifestwork-size-limit", 500*1024, "maximum size of the manifests of a ManifestWork in bytes; the limit of OCM's webhook is 512000. 1/32 of it stays free for removals and for an AppProject that grows")
	w := &o.Withdrawals
	w.Group, w.Hub = limit.Limit{Percent: 25, Least: 10}, limit.Limit{Percent: 10, Least: 50}
	fs.Var(&w.Group.Percent, "deletion-budget", "how many `percent` of an ApplicationSet's deliveries (or of a namespace's without ApplicationSet) may be withdrawn within --deletion-budget-window; more are held until an operator approves; 100% is no limit")
	fs.IntVar(&w.Group.Least, "deletion-budget-min", w.Group.Least, "number of deliveries of an ApplicationSet or namespace that may always be withdrawn, however few --deletion-budget percent are")
	fs.Var(&w.Hub.Percent, "deletion-budget-hub", "how many `percent` of all deliveries of the hub may be withdrawn within --deletion-budget-window; more are held until an operator approves")
	fs.IntVar(&w.Hub.Least, "deletion-budget-hub-min", w.Hub.Least, "number of deliveries of the hub that may always be withdrawn, however few --deletion-budget-hub percent are")
	fs.DurationVar(&w.Window, "deletion-budget-window", 10*time.Minute, "time within which withdrawals add up to the limits")
}

// Validate returns an error that names every flag with an invalid value.
func (o *Options) Validate() error {
	var errs []error
	if o.Binding != BindingPlacement && o.Binding != BindingNone {
		errs = append(errs, fmt.Errorf("--cluster-binding %q: want %s or %s", o.Binding, BindingPlacement, BindingNone))
	}
	if o.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("--max-concurrent-reconciles %d: want 1 or more", o.Concurrency))
	}
	if o.BindingGrace < 0 {
		errs = append(errs, fmt.Errorf("--binding-grace %s: want zero or more", o.BindingGrace))
	}
	if o.SizeLimit < 1 {
		errs = append(errs, fmt.Errorf("--manifestwork-size-limit %d: want a positive number of bytes", o.SizeLimit))
	}
	if o.Withdrawals.Group.Least < 0 {
		errs = append(errs, fmt.Errorf("--deletion-budget-min %d: want zero or more", o.Withdrawals.Group.Least))
	}
	if o.Withdrawals.Hub.Least < 0 {
		errs = append(errs, fmt.Errorf("--deletion-budget-hub-min %d: want zero or more", o.Withdrawals.Hub.Least))
	}
	if o.Withdrawals.Window < time.Second || o.Withdrawals.Window > 24*time.Hour {
		errs = append(errs, fmt.Errorf("--deletion-budget-window %s: want a duration from 1s to 24h", o.Withdrawals.Window))
	}
	return errors.Join(errs...)
}
