// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Every binary authorizes the readers of its metrics.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Kinds are the objects that a binary reads and writes, and the settings for them.
type Kinds struct {
	Scheme *runtime.Scheme
	Cache  cache.Options
	// Warm lists the kinds with informers that start at once, even on a standby. The standby is
	// ready once they are synced, and takes over with a warm cache.
	Warm []client.Object
	// NewClient creates the client. nil uses controller-runtime's default.
	NewClient client.NewClientFunc
}

// NewManager returns a manager with the binary's probes, metrics and lease.
func NewManager(ctx context.Context, env *Env, kinds Kinds) (ctrl.Manager, error) {
	other, err := newConflictingDeployment(env)
	if err != nil {
		return nil, err
	}
	if other != nil {
		if err := other.check(ctx); err != nil {
			return nil, err
		}
	}
	options := managerOptions(env, kinds)
	if options.LeaderElection && options.LeaderElectionNamespace == "" {
		return nil, errors.New("not in a pod: --leader-election-namespace has to name the namespace of the Lease")
	}
	mgr, err := ctrl.NewManager(env.Config, options)
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	for _, o := range kinds.Warm {
		if _, err := mgr.GetCache().GetInformer(ctx, o, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("watch %T: %w", o, err)
		}
	}
	if other != nil {
		if err := mgr.Add(other); err != nil {
			return nil, err
		}
	}
	ready := &readiness{cache: mgr.GetCache()}
	return &starter{Manager: mgr, ready: ready}, errors.Join(
		mgr.Add(ready),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", ready.check),
	)
}

// managerOptions returns the options of the binary's manager.
func managerOptions(env *Env, kinds Kinds) ctrl.Options {
	o := &env.Options
	options := ctrl.Options{
		Scheme:                        kinds.Scheme,
		Cache:                         kinds.Cache,
		NewClient:                     kinds.NewClient,
		Logger:                        env.Log,
		HealthProbeBindAddress:        o.HealthProbeBindAddress,
		PprofBindAddress:              o.PprofBindAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionNamespace:       env.Namespace(),
		LeaderElectionID:              env.Program.LeaseName,
		LeaderElectionReleaseOnCancel: true, // a graceful stop hands over at once
		Metrics: metricsserver.Options{
			BindAddress:   o.MetricsBindAddress,
			SecureServing: o.MetricsSecure,
			CertDir:       o.MetricsCertDir,
			ExtraHandlers: map[string]http.Handler{"/log-level": env.Level},
		},
	}
	if o.LeaderElect {
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &o.LeaseDuration, &o.RenewDeadline, &o.RetryPeriod
	}
	if o.MetricsSecure {
		options.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	} else {
		options.Metrics.ExtraHandlers = nil // without authentication no client may change the log level
	}
	return options
}

// starter is a manager that stops when its context ends, even if its caches wait for their first
// list. Start of controller-runtime does not return in that case.
type starter struct {
	ctrl.Manager
	ready *readiness
}

func (s *starter) Start(ctx context.Context) error {
	result := make(chan error, 1)
	go func() { result <- s.Manager.Start(ctx) }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	if !s.ready.synced.Load() {
		return nil // no controller runs and no Lease is held yet
	}
	return <-result
}

// readiness is true once every informer has its first list.
type readiness struct {
	cache  cache.Cache
	synced atomic.Bool
}

var _ manager.LeaderElectionRunnable = &readiness{}

func (r *readiness) NeedLeaderElection() bool { return false }

func (r *readiness) Start(ctx context.Context) error {
	if r.cache.WaitForCacheSync(ctx) {
		r.synced.Store(true)
	}
	<-ctx.Done()
	return nil
}

func (r *readiness) check(*http.Request) error {
	if !r.synced.Load() {
		return errors.New("caches are not synced yet: the API server has not answered every first list (rights, or reachability)")
	}
	return nil
}
