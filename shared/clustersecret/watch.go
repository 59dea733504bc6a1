// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package clustersecret

import (
	"context"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Selector selects the Secrets that Argo CD reads as clusters.
var Selector = client.MatchingLabels{argocd.SecretTypeLabel: argocd.SecretTypeCluster}

// Transform returns the transform of a cache that applies [Trim].
func Transform(in any) (any, error) {
	if secret, ok := in.(*corev1.Secret); ok {
		secret.ManagedFields = nil
		Trim(secret)
	}
	return in, nil
}

// Trim keeps the values of name and server, and a digest of the config. It keeps the other keys
// without values, so that they can be removed. Objects of a cache's first list are trimmed twice.
func Trim(secret *corev1.Secret) {
	for key, value := range secret.Data {
		switch key {
		case dataName, dataServer:
		case dataConfig:
			if !isDigest(value) {
				secret.Data[key] = digest(value)
			}
		default:
			secret.Data[key] = nil
		}
	}
}

// ClusterChanged accepts changes of a ManagedCluster that a Secret depends on. Its status changes
// all the time.
var ClusterChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return ok && ok2 && (Registrable(before) != Registrable(after) || !maps.Equal(before.Labels, after.Labels))
	},
}

// ClusterOf returns the cluster of a Secret by the Secret's name, because another client may have
// changed its labels. It also returns the cluster by the name in the Secret, because a Secret of
// another writer may have the same cluster.
func ClusterOf(_ context.Context, o client.Object) []reconcile.Request {
	var requests []reconcile.Request
	cluster, ok := strings.CutSuffix(o.GetName(), nameSuffix)
	if ok && cluster != "" {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: cluster}})
	}
	if secret, is := o.(*corev1.Secret); is && ClusterName(secret) != "" && ClusterName(secret) != cluster {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: ClusterName(secret)}})
	}
	return requests
}
