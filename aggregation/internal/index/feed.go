// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// The index reads these kinds, and never writes them.
// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch

// Feed keeps an index up to date, on a leader and on a standby alike. It is a
// manager's runnable.
type Feed struct {
	index *Index
	store *intermediate.Store
	log   logr.Logger

	synced []toolscache.InformerSynced
	read   chan struct{} // closed when every report that was there has been read
	files  *files
	// exists reports whether an ApplicationSet exists or may exist.
	exists func(types.NamespacedName) bool
}

// NewFeed connects the index with the cache and with the intermediate reports in store. The cache's
// transform for ManifestWorks must be [Compact].
func NewFeed(ctx context.Context, x *Index, c cache.Cache, store *intermediate.Store, log logr.Logger) (*Feed, error) {
	f := &Feed{index: x, store: store, log: log, read: make(chan struct{}), files: newFiles()}
	works, err := c.GetInformer(ctx, &workv1.ManifestWork{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch ManifestWorks: %w", err)
	}
	clusters, err := c.GetInformer(ctx, &clusterv1.ManagedCluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch ManagedClusters: %w", err)
	}
	sets, err := c.GetInformer(ctx, argocd.ApplicationSetMetadata(), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch ApplicationSets: %w", err)
	}
	f.exists = func(key types.NamespacedName) bool {
		return !apierrors.IsNotFound(c.Get(ctx, key, argocd.ApplicationSetMetadata()))
	}
	return f, errors.Join(
		f.handle(sets, handler[*metav1.PartialObjectMetadata]{set: func(*metav1.PartialObjectMetadata) {}, gone: f.deleteApplicationSet}),
		f.handle(works, handler[*manifestcache.Work]{set: f.setWork, gone: x.DeleteWork}),
		f.handle(clusters, handler[*clusterv1.ManagedCluster]{
			set:  func(c *clusterv1.ManagedCluster) { x.SetCluster(status.ClusterOf(c.Name, c)) },
			gone: func(key types.NamespacedName) { x.SetCluster(status.ClusterOf(key.Name, nil)) },
		}),
	)
}

func (f *Feed) handle(informer cache.Informer, h toolscache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(h)
	if err != nil {
		return fmt.Errorf("follow an informer: %w", err)
	}
	f.synced = append(f.synced, registration.HasSynced)
	return nil
}

func (f *Feed) setWork(w *manifestcache.Work) {
	if !belongs(w) {
		f.index.DeleteWork(keyOf(w))
		return
	}
	f.index.SetWork(w)
}

// deleteApplicationSet drops the findings of search about an ApplicationSet if its file does not
// exist any more. While the file exists the findings stay, because the file is read again only
// after a change. Another ApplicationSet of that name gets only the findings about its own works.
func (f *Feed) deleteApplicationSet(key types.NamespacedName) {
	if _, err := f.store.Read(key.Namespace, key.Name); errors.Is(err, intermediate.ErrNone) {
		f.index.DeleteSearch(key)
	}
}

// fileGone drops the findings of a file that was removed together with its ApplicationSet. While
// the ApplicationSet exists, or may exist, a missing file means nothing.
func (f *Feed) fileGone(key types.NamespacedName) {
	if f.hasSynced() && !f.exists(key) {
		f.index.DeleteSearch(key)
	}
}

func (f *Feed) hasSynced() bool {
	return !slices.ContainsFunc(f.synced, func(synced toolscache.InformerSynced) bool { return !synced() })
}

// NeedLeaderElection is false: a standby keeps its index warm.
func (f *Feed) NeedLeaderElection() bool { return false }

// Start reads the intermediate reports until ctx ends.
func (f *Feed) Start(ctx context.Context) error {
	return f.store.Watch(ctx, f.readReport, func(err error) {
		if err != nil {
			f.log.Error(err, "cannot list the intermediate reports; those already read stay in use")
		}
		close(f.read)
	})
}

// WaitForSync returns when the index has all that was there when it started.
func (f *Feed) WaitForSync(ctx context.Context) error {
	if !toolscache.WaitForCacheSync(ctx.Done(), f.synced...) {
		return fmt.Errorf("wait for the first lists: %w", context.Cause(ctx))
	}
	select {
	case <-f.read:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the intermediate reports: %w", context.Cause(ctx))
	}
}

// handler is an informer's handler for objects of one type.
type handler[T any] struct {
	set  func(T)
	gone func(types.NamespacedName)
}

func (h handler[T]) OnAdd(object any, _ bool) { h.on(object) }

func (h handler[T]) OnUpdate(_, object any) { h.on(object) }

func (h handler[T]) on(object any) {
	if o, ok := object.(T); ok {
		h.set(o)
	}
}

func (h handler[T]) OnDelete(object any) {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return // neither an object nor the mark of a lost object, so no informer sends it
	}
	namespace, name, err := toolscache.SplitMetaNamespaceKey(key)
	if err == nil {
		h.gone(types.NamespacedName{Namespace: namespace, Name: name})
	}
}

// readReport applies an intermediate report that exists and is valid. A missing or unreadable one
// changes nothing, because it does not mean that no resources exist. An error means that the caller
// has to retry.
func (f *Feed) readReport(namespace, name string) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	report, err := f.store.Read(namespace, name)
	switch {
	case errors.Is(err, intermediate.ErrNone):
		f.files.note(key, 0, nil)
		f.fileGone(key)
	case err != nil:
		if f.files.note(key, f.files.refused[key], err) {
			f.log.Error(err, "cannot read an intermediate report; its previous content stays in use until a retry succeeds")
		}
		return err
	default:
		if f.files.note(key, report.Refused, nil) {
			f.log.Info("entries of an intermediate report are left out: a name in each of them is missing, too long or has control characters",
				"applicationSet", key.String(), "entries", report.Refused)
		}
		f.index.SetSearch(report)
	}
	return nil
}
