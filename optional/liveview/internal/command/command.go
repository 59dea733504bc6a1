// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the two binaries without their processes: the flags, and the parts that they
// start.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/observe"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/viewer"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Version is the version of this module. A release changes it here.
const Version = "0.1.0"

// Program describes the viewer.
func Program() boot.Program {
	return boot.Program{Name: "liveview", Version: Version, MetricsPort: 8443, HealthPort: 8081, LeaseName: "multicluster-integrations-liveview"}
}

// ObserverProgram describes the observer.
func ObserverProgram() boot.Program {
	return boot.Program{Name: "observer", Version: Version, MetricsPort: 8443, HealthPort: 8081}
}

// Viewer is the command of the hub.
type Viewer struct {
	redis    argoredis.Options
	observer string
	keep     time.Duration
	maxOpen  int
}

// New returns the viewer's command.
func New() *Viewer { return &Viewer{} }

// observerNamespace is where deploy/liveview has the observer.
const observerNamespace = "multicluster-integrations-observer"

// BindFlags adds the viewer's flags.
func (c *Viewer) BindFlags(fs *flag.FlagSet) {
	c.redis.BindFlags(fs)
	fs.StringVar(&c.observer, "observer-namespace", observerNamespace, "namespace of the observer on managed clusters")
	fs.DurationVar(&c.keep, "keep", 5*time.Minute, "how long a view stays after it was last open, at most")
	fs.IntVar(&c.maxOpen, "max-open", 300, "how many Applications have a view at a time; those of one cluster half as many at most")
}

// Validate names every flag with an impossible value.
func (c *Viewer) Validate() error {
	failed := []error{c.redis.Validate()}
	if c.observer == "" {
		failed = append(failed, errors.New("--observer-namespace is empty"))
	}
	if c.keep < time.Second {
		failed = append(failed, fmt.Errorf("--keep is %s, want at least 1s", c.keep))
	}
	if c.maxOpen < 1 {
		failed = append(failed, fmt.Errorf("--max-open is %d, want at least 1", c.maxOpen))
	}
	return errors.Join(failed...)
}

// Run works until ctx ends.
func (c *Viewer) Run(ctx context.Context, env *boot.Env) error {
	return run(ctx, env, c.redis, viewer.Caches(), func(mgr ctrl.Manager, redis *argoredis.Redis) error {
		applications, err := metadata.NewForConfig(mgr.GetConfig())
		if err != nil {
			return err
		}
		works, err := viewer.NewWorks(mgr.GetConfig())
		if err != nil {
			return err
		}
		return mgr.Add(&viewer.Viewer{
			Options: viewer.Options{ArgoCDNamespace: c.redis.Namespace, Observer: c.observer, Keep: c.keep, MaxOpen: c.maxOpen},
			Client:  mgr.GetClient(), Live: mgr.GetAPIReader(), Works: works, Metadata: applications, Redis: redis, Log: env.Log.WithName("viewer"),
		})
	})
}

// run works until ctx ends, with the controllers that setup adds.
func run(ctx context.Context, env *boot.Env, options argoredis.Options, watched map[client.Object]cache.ByObject, setup func(ctrl.Manager, *argoredis.Redis) error) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.Install(scheme), workv1.Install(scheme)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	mgr, err := boot.NewManager(ctx, env, boot.Kinds{
		Scheme: scheme,
		Cache:  cache.Options{ByObject: watched, DefaultTransform: cache.TransformStripManagedFields()},
		Warm:   slices.Collect(maps.Keys(watched)),
	})
	if err != nil {
		return err
	}
	redis, err := argoredis.New(options, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	defer func() { _ = redis.Close() }() // nothing is buffered
	if err := setup(mgr, redis); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// Observer is the command of a managed cluster.
type Observer struct {
	redis     argoredis.Options
	namespace string
}

// NewObserver returns the observer's command.
func NewObserver() *Observer { return &Observer{} }

// BindFlags adds the observer's flags.
func (c *Observer) BindFlags(fs *flag.FlagSet) {
	c.redis.BindFlags(fs)
	fs.StringVar(&c.namespace, "namespace", observerNamespace, "namespace of the ConfigMaps by which the hub asks")
}

// Validate names every flag with an impossible value.
func (c *Observer) Validate() error {
	failed := []error{c.redis.Validate()}
	if c.namespace == "" {
		failed = append(failed, errors.New("--namespace is empty"))
	}
	return errors.Join(failed...)
}

// Run works until ctx ends.
func (c *Observer) Run(ctx context.Context, env *boot.Env) error {
	return run(ctx, env, c.redis, observe.Caches(c.namespace), func(mgr ctrl.Manager, redis *argoredis.Redis) error {
		return observe.Setup(mgr, redis, c.redis.Namespace)
	})
}
