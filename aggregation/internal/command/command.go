// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the aggregation binary without its process: the flags, and the parts that they
// start.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/definition"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/index"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/pace"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/publish"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/rendered"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Version is the version of this module. A release changes it here.
const Version = "0.1.0"

// These are the bounds of --report-size-limit. A smaller report has no room for its metadata. A
// larger one comes too close to etcd's limit of 1.5 MiB for a request.
const (
	minSizeLimit = 16 << 10
	maxSizeLimit = 1400 << 10
)

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{
		Name: "aggregation", Version: Version, MetricsPort: 8445, HealthPort: 8083, LeaseName: "multicluster-integrations-aggregation",
		GCPercent: 25, // decoding leaves much garbage, and memory costs more than the time
	}
}

// Command holds the binary's flags.
type Command struct {
	intermediateDir string
	sizeLimit       int
	rendered        bool
	patience        time.Duration // for the first list of rendered Applications
	pace            pace.Limits
}

// New returns the command with its defaults.
func New() *Command { return &Command{patience: rendered.Patience} }

// BindFlags adds the binary's own flags.
func (c *Command) BindFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.intermediateDir, "intermediate-dir", "/var/run/multicluster-integrations", "directory of the intermediate reports that resourcesync writes; it may be empty, or missing on a hub without search")
	fs.IntVar(&c.sizeLimit, "report-size-limit", 1<<20, fmt.Sprintf("maximum size of a report in bytes, from %d to %d; a larger one has its messages shortened, then rows left out, healthy ones first", minSizeLimit, maxSizeLimit))
	fs.BoolVar(&c.rendered, "rendered", false, "show the Applications of rendered mode in the reports; it needs the right to list and watch Applications, which deploy/components/rendered grants")
	fs.DurationVar(&c.pace.Interval, "report-write-interval", 500*time.Millisecond, "minimum interval between writes of one report; while changes go on up to four times this, and in bursts up to thirty times")
}

// Validate names every flag with an impossible value.
func (c *Command) Validate() error {
	var errs []error
	if c.intermediateDir == "" {
		errs = append(errs, errors.New("--intermediate-dir is empty: want a directory"))
	}
	if c.sizeLimit < minSizeLimit || c.sizeLimit > maxSizeLimit {
		errs = append(errs, fmt.Errorf("--report-size-limit %d: want %d to %d", c.sizeLimit, minSizeLimit, maxSizeLimit))
	}
	if c.pace.Interval < pace.Delay {
		errs = append(errs, fmt.Errorf("--report-write-interval %s: want no less than %s", c.pace.Interval, pace.Delay))
	}
	return errors.Join(errs...)
}

// The leader holds a lease in the namespace of its pod and reports that in an Event.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// Run works until ctx ends.
func (c *Command) Run(ctx context.Context, env *boot.Env) error {
	kinds, err := c.kinds(env.Config)
	if err != nil {
		return err
	}
	mgr, err := boot.NewManager(ctx, env, kinds)
	if err != nil {
		return err
	}
	store := intermediate.NewStore(c.intermediateDir)
	queue := publish.NewQueue(c.pace)
	rows, waitForRendered, err := c.followRendered(mgr, queue.Changed, env.Log.WithName("rendered"))
	if err != nil {
		return err
	}
	x := index.New(queue.Changed, rows...)
	feed, err := index.NewFeed(ctx, x, mgr.GetCache(), store, env.Log.WithName("index"))
	if err != nil {
		return err
	}
	if err := errors.Join(
		mgr.Add(feed),
		mgr.Add(manager.RunnableFunc(definition.Report(env.Config, env.Log.WithName("definition")))),
		publish.Setup(mgr, publish.Options{
			SizeLimit:   c.sizeLimit,
			Queue:       queue,
			Index:       x,
			WaitForSync: func(ctx context.Context) error { return errors.Join(feed.WaitForSync(ctx), waitForRendered(ctx)) },
			Store:       store,
		}),
	); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// kinds returns the kinds that aggregation reads and writes, and how.
func (c *Command) kinds(config *rest.Config) (boot.Kinds, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), workv1.Install(scheme), clusterv1.Install(scheme)); err != nil {
		return boot.Kinds{}, fmt.Errorf("register types: %w", err)
	}
	kinds := boot.Kinds{
		Scheme: scheme,
		Cache:  cache.Options{ByObject: index.Caches()},
		Warm:   []client.Object{&workv1.ManifestWork{}, &clusterv1.ManagedCluster{}, argocd.ApplicationSetMetadata(), publish.Metadata()},

		NewClient: publish.NewClient,
	}
	informers, err := index.Informers(config)
	kinds.Cache.NewInformer = informers
	return kinds, err
}

// followRendered returns the rows of rendered mode, and a function that waits for them.
func (c *Command) followRendered(mgr ctrl.Manager, changed func(types.NamespacedName), log logr.Logger) (others []index.Source, wait func(context.Context) error, err error) {
	if !c.rendered {
		return nil, func(context.Context) error { return nil }, nil
	}
	rows := rendered.New(changed)
	follower, err := rendered.NewFollower(mgr.GetConfig(), rows, mgr.GetCache(), c.patience, log)
	if err != nil {
		return nil, nil, err
	}
	return []index.Source{rows}, follower.WaitForSync, mgr.Add(follower)
}
