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

// Values of --cluster-binding.
const (
	BindingPlacement = "placement"
	BindingNone      = "none"
)

// recreateGrace is longer than kubectl replace --force takes, or an ApplicationSet that is
// generated again.
const recreateGrace = 5 * time.Second

// Options are the settings of delivery.
type Options struct {
	// ArgoCDNamespace is where the hub's Argo CD keeps its AppProjects.
	ArgoCDNamespace string
	// InstanceLabel is the label key that the hub's Argo CD tracks resources by.
	InstanceLabel string
	// AppNamespaces is where Applications outside the Argo CD namespace may go to
	// besides their own namespace.
	AppNamespaces policy.AppNamespaces
	// AgentNamespaces are those of the hub's Argo CDs whose cluster Secrets name agents of
	// argocd-agent; without any none is looked for.
	AgentNamespaces []string
	// Binding is [BindingPlacement] or [BindingNone].
	Binding string
	// BindingGrace is how long a lost binding, or a project's lost permission, must stay
	// lost before it counts.
	BindingGrace time.Duration
	// RecreateGrace is how long a deleted Application must stay away before its copy
	// goes, when nothing held up its deletion. It has no flag: tests set another.
	RecreateGrace time.Duration
	// Concurrency is how many Applications are worked on at a time. In a storm of
	// statuses the mirror with ten gets less of an API server at its limit than the
	// agents do, and falls behind; twenty keep up.
	Concurrency int
	// Namespace and Project let them travel with the Application.
	Namespace, Project bool
	// SizeLimit is the most bytes of manifests that a ManifestWork may have.
	SizeLimit int
	// sweepInterval is another than [sweepInterval], for tests.
	sweepInterval time.Duration
	// Withdrawals says how many deliveries may be withdrawn until an operator approves.
	Withdrawals budget.Settings
	// HubNamespace is where propagation runs: its annotation decides for the whole hub,
	// and what the budget remembers is stored there. Without it nothing is stored.
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
	fs.IntVar(&o.SizeLimit, "manifestwork-size-limit", 500*1024, "maximum size of the manifests of a ManifestWork in bytes; the limit of OCM's webhook is 512000")
	w := &o.Withdrawals
	w.Group, w.Hub = limit.Limit{Percent: 25, Least: 10}, limit.Limit{Percent: 10, Least: 50}
	fs.Var(&w.Group.Percent, "deletion-budget", "how many `percent` of an ApplicationSet's deliveries (or of a namespace's without ApplicationSet) may be withdrawn within --deletion-budget-window; more are held until an operator approves; 100% is no limit")
	fs.IntVar(&w.Group.Least, "deletion-budget-min", w.Group.Least, "number of deliveries of an ApplicationSet or namespace that may always be withdrawn, however few --deletion-budget percent are")
	fs.Var(&w.Hub.Percent, "deletion-budget-hub", "how many `percent` of all deliveries of the hub may be withdrawn within --deletion-budget-window; more are held until an operator approves")
	fs.IntVar(&w.Hub.Least, "deletion-budget-hub-min", w.Hub.Least, "number of deliveries of the hub that may always be withdrawn, however few --deletion-budget-hub percent are")
	fs.DurationVar(&w.Window, "deletion-budget-window", 10*time.Minute, "time within which withdrawals add up to the limits")
}

// Validate names every flag with an impossible value.
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
