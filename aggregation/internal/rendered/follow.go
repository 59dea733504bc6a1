// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// The right to list and watch Applications is no marker here, because a marker would grant it
// without rendered mode, too. deploy/components/rendered grants it.

var selector = labels.SelectorFromSet(labels.Set{contract.RenderedLabel: "true"})

// source returns where the events of Applications come from.
func source(config *rest.Config) (slim.Source, error) {
	// slimApplication has the fields of an Application that [Compact] reads.
	type slimApplication struct {
		Metadata slim.Meta       `json:"metadata"`
		Spec     json.RawMessage `json:"spec"`
		Status   json.RawMessage `json:"status"`
	}
	resource := argocd.GroupVersion.WithResource(argocd.ApplicationPlural)
	return slim.NewSource(config, resource, func(a *slimApplication) *argocd.Application {
		return &argocd.Application{ObjectMeta: a.Metadata.ObjectMeta, Spec: a.Spec, Status: a.Status}
	}, client.MatchingLabelsSelector{Selector: selector})
}

// Follower keeps rows up to date with the hub's Applications. It is a runnable of the manager that
// needs no leader election. It has a separate cache, so that an Application that cannot be read
// delays nothing else.
type Follower struct {
	rows                   *Rows
	applications, clusters cache.Cache
	log                    logr.Logger
	synced                 chan struct{}
	patience               time.Duration
}

// Patience is how long reports wait for rendered Applications: they are written without them
// then, and again when they come.
const Patience = time.Minute

// retry is how long the follower waits after an error, such as a missing
// CustomResourceDefinition.
const retry = 30 * time.Second

// NewFollower returns a Follower that feeds rows. clusters is a cache of ManagedClusters. Usually
// patience is [Patience].
func NewFollower(config *rest.Config, rows *Rows, clusters cache.Cache, patience time.Duration, log logr.Logger) (*Follower, error) {
	source, err := source(config)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := argocd.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Applications: %w", err)
	}
	applications, err := cache.New(config, cache.Options{
		Scheme: scheme, NewInformer: slim.Informers(source),
		ByObject: map[client.Object]cache.ByObject{&argocd.Application{}: {Label: selector, Transform: Compact}},
	})
	if err != nil {
		return nil, fmt.Errorf("make a cache of Applications: %w", err)
	}
	return &Follower{rows: rows, applications: applications, clusters: clusters, log: log, synced: make(chan struct{}), patience: patience}, nil
}

// NeedLeaderElection is false: a standby is warm, too.
func (f *Follower) NeedLeaderElection() bool { return false }

// Start feeds the rows until ctx ends.
func (f *Follower) Start(ctx context.Context) error {
	stopped := make(chan error, 1)
	go func() { stopped <- f.applications.Start(ctx) }()
	for {
		err := f.follow(ctx)
		if err == nil || ctx.Err() != nil {
			return <-stopped
		}
		f.log.Error(err, "cannot read the Applications of rendered mode: reports have no rows of them; trying again", "after", retry.String())
		clock.Sleep(ctx, retry)
	}
}

// WaitForSync returns once the rows are all that was there at start, or when reports have
// waited long enough for them.
func (f *Follower) WaitForSync(ctx context.Context) error {
	timer := time.NewTimer(f.patience)
	defer timer.Stop()
	select {
	case <-f.synced:
	case <-timer.C:
		f.log.Error(errors.New("the API server has not answered the first list (rights, the CustomResourceDefinition, or reachability)"), "reports are written without the Applications of rendered mode until it does", "waited", f.patience.String())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// follow connects the rows to both caches, and returns after both first lists.
func (f *Follower) follow(ctx context.Context) error {
	applications, err := f.applications.GetInformer(ctx, &argocd.Application{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Applications: %w", err)
	}
	clusters, err := f.clusters.GetInformer(ctx, &clusterv1.ManagedCluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch ManagedClusters: %w", err)
	}
	ofApplications, err1 := applications.AddEventHandler(handler(f.rows.Set, f.rows.Delete))
	ofClusters, err2 := clusters.AddEventHandler(handler(
		func(c *clusterv1.ManagedCluster) { f.rows.SetCluster(status.ClusterOf(c.Name, c)) },
		func(key types.NamespacedName) { f.rows.SetCluster(status.ClusterOf(key.Name, nil)) },
	))
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("follow an informer: %w", err)
	}
	if toolscache.WaitForCacheSync(ctx.Done(), ofApplications.HasSynced, ofClusters.HasSynced) {
		close(f.synced)
	}
	return nil // or ctx has ended
}

func handler[T any](set func(T), gone func(types.NamespacedName)) toolscache.ResourceEventHandler {
	on := func(object any) {
		if o, ok := object.(T); ok {
			set(o)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    on,
		UpdateFunc: func(_, object any) { on(object) },
		DeleteFunc: func(object any) {
			key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
			if err != nil {
				return // neither an object nor the mark of a lost object, so no informer sends it
			}
			if namespace, name, err := toolscache.SplitMetaNamespaceKey(key); err == nil {
				gone(types.NamespacedName{Namespace: namespace, Name: name})
			}
		},
	}
}
