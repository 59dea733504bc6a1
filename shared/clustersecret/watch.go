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

// Selector selects the Secrets that Argo CD reads clusters from.
var Selector = client.MatchingLabels{argocd.SecretTypeLabel: argocd.SecretTypeCluster}

// Transform is [Trim] for a cache.
func Transform(in any) (any, error) {
	if secret, ok := in.(*corev1.Secret); ok {
		secret.ManagedFields = nil
		Trim(secret)
	}
	return in, nil
}

// Trim drops the values of a Secret but for name and server, and keeps a digest of the
// config; the other keys stay, so that they are seen and removed. What is in
// a cache's initial list is trimmed twice.
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

// ClusterChanged lets through what a Secret depends on; a ManagedCluster's status
// changes all the time.
var ClusterChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return ok && ok2 && (Registrable(before) != Registrable(after) || !maps.Equal(before.Labels, after.Labels))
	},
}

// ClusterOf returns the cluster of a Secret, by the Secret's name, since another client
// may have changed its labels, and by the name in it, which another writer's may share.
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
