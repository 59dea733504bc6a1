// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hub reads the hub. It watches Applications and ManagedClusters, reads the Leases of the
// controllers at intervals, and reads a report when a viewer opens its ApplicationSet.
package hub

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch

// maxAddress is the highest length of an Argo CD's address.
const maxAddress = 512

// ClusterCache returns the cache settings of ManagedClusters.
func ClusterCache() cache.ByObject { return cache.ByObject{Transform: trim} }

// trim keeps the name of a ManagedCluster, its availability and the address of its Argo CD.
func trim(o any) (any, error) {
	c, ok := o.(*clusterv1.ManagedCluster)
	if !ok {
		return o, nil
	}
	trimmed := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}, Status: c.Status}
	if address := c.Annotations[contract.ArgoCDURLAnnotation]; address != "" && len(address) <= maxAddress {
		trimmed.Annotations = map[string]string{contract.ArgoCDURLAnnotation: strings.Clone(address)}
	}
	status.TrimCluster(&trimmed.Status)
	return trimmed, nil
}

// FollowClusters keeps the ManagedClusters of a fleet up to date from a cache with [ClusterCache].
func FollowClusters(ctx context.Context, c cache.Cache, fleet *model.Fleet) error {
	informer, err := c.GetInformer(ctx, &clusterv1.ManagedCluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch ManagedClusters: %w", err)
	}
	set := func(o any) {
		if c, ok := o.(*clusterv1.ManagedCluster); ok {
			fleet.SetCluster(model.Cluster{Cluster: status.ClusterOf(c.Name, c), ArgoCD: Linkable(c.Annotations[contract.ArgoCDURLAnnotation])})
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, o any) { set(o) },
		DeleteFunc: func(o any) {
			if name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil { // an informer sends only such objects
				fleet.SetCluster(model.Cluster{Cluster: status.ClusterOf(name, nil)})
			}
		},
	})
	if err != nil {
		return fmt.Errorf("follow ManagedClusters: %w", err)
	}
	return nil
}

// Linkable returns the address of an Argo CD without a trailing slash, or "" if the page may not
// link to paths below it.
func Linkable(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return ""
	}
	return strings.TrimSuffix(address, "/")
}
