// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Caches returns what the cache holds of the objects that this package watches:
// what somebody reads, no more (see package manifestcache). argocdNamespace is where
// AppProjects live.
func Caches(argocdNamespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&argocd.Application{}: {Transform: manifestcache.TrimApplication},
		&workv1.ManifestWork{}: {
			Label:     pulledWorks,
			Transform: manifestcache.Transform(payload.FactsOf, countRejected),
		},
		&argocd.AppProject{}:                {Namespaces: map[string]cache.Config{argocdNamespace: {}}, Transform: trimMetadata},
		&clusterv1.ManagedCluster{}:         {Transform: trimCluster},
		&clusterv1beta1.PlacementDecision{}: {Transform: trimMetadata},
		argocd.ApplicationSetMetadata():     {Transform: trimDecisions},
		namespaceMetadata():                 {Transform: trimDecisions},
	}
}

func trimMetadata(in any) (any, error) {
	if o, ok := in.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return in, nil
}

func trimCluster(in any) (any, error) {
	if cluster, ok := in.(*clusterv1.ManagedCluster); ok {
		cluster.ManagedFields = nil
		rejected := status.TrimCluster(&cluster.Status)
		countRejected(&rejected)
	}
	return in, nil
}
