// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet lists the managed clusters and ApplicationSets of the hub, from the manager's cache
// of their metadata.
package fleet

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

var managedClusters = schema.GroupVersion(clusterv1.GroupVersion)

// Search itself checks the last right, for each of its clients. The blank line below keeps these markers
// out of the type's comment, where controller-gen does not read markers.
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch
// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;watch
// +kubebuilder:rbac:groups=search.open-cluster-management.io,resources=searches/allManagedData,verbs=get

// Reader reads from a synced cache.
type Reader struct {
	cache client.Reader
}

// NewReader returns a reader. The cache must have the objects of [Watched].
func NewReader(c client.Reader) *Reader { return &Reader{cache: c} }

// View is the hub at one moment.
type View struct {
	// Clusters are the managed clusters that Applications can be pulled to, sorted.
	Clusters []string
	// Hub are the names of the managed clusters that are the hub itself.
	Hub []string
	// Sets are the ApplicationSets that exist.
	Sets map[intermediate.Key]bool
}

// View returns the present lists. After an error nothing is known. It is called at every poll and
// does not change the listed objects, so it lists the cache's objects without copies.
func (r *Reader) View(ctx context.Context) (View, error) {
	v := View{Sets: map[intermediate.Key]bool{}}
	clusters := &metav1.PartialObjectMetadataList{}
	clusters.SetGroupVersionKind(managedClusters.WithKind("ManagedClusterList"))
	if err := r.cache.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return View{}, fmt.Errorf("list ManagedClusters: %w", err)
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		if contract.IsHub(c.Name, c.Labels) {
			v.Hub = append(v.Hub, c.Name)
		} else {
			v.Clusters = append(v.Clusters, c.Name)
		}
	}
	slices.Sort(v.Clusters)
	sets := &metav1.PartialObjectMetadataList{}
	sets.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationSetKind + "List"))
	if err := r.cache.List(ctx, sets, client.UnsafeDisableDeepCopy); err != nil {
		return View{}, fmt.Errorf("list ApplicationSets: %w", err)
	}
	for i := range sets.Items {
		v.Sets[intermediate.Key{Namespace: sets.Items[i].Namespace, Name: sets.Items[i].Name}] = true
	}
	return v, nil
}

// Watched are the objects that the cache must hold.
func Watched() []client.Object {
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(managedClusters.WithKind("ManagedCluster"))
	return []client.Object{cluster, argocd.ApplicationSetMetadata()}
}

// CacheOptions returns options for a cache that keeps the fields of each object that [Reader]
// reads.
func CacheOptions() cache.Options {
	return cache.Options{DefaultTransform: trim}
}

func trim(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	m.ManagedFields, m.Annotations, m.Finalizers, m.OwnerReferences = nil, nil, nil, nil
	if value, is := m.Labels[contract.LocalClusterLabel]; is {
		m.Labels = map[string]string{contract.LocalClusterLabel: value}
	} else {
		m.Labels = nil
	}
	return m, nil
}
