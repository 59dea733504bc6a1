// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// maxAnnotation is the longest value of an annotation of a ManagedCluster that is kept.
const maxAnnotation = 512

// Caches returns how the informers that the index is fed from have to be trimmed. Of
// ManagedClusters they keep the annotations with these keys.
func Caches(annotations ...string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&workv1.ManifestWork{}: {
			Label:     generated,
			Transform: Compact,
		},
		&clusterv1.ManagedCluster{}:     {Transform: func(object any) (any, error) { return trimCluster(object, annotations) }},
		argocd.ApplicationSetMetadata(): {Transform: trimMetadata},
	}
}

// trimCluster leaves a ManagedCluster its name, its availability and some annotations, bounded.
func trimCluster(object any, annotations []string) (any, error) {
	c, ok := object.(*clusterv1.ManagedCluster)
	if !ok {
		return object, nil
	}
	trimmed := &clusterv1.ManagedCluster{ObjectMeta: trimMeta(&c.ObjectMeta), Status: c.Status}
	for _, key := range annotations {
		if value := c.Annotations[key]; value != "" && len(value) <= maxAnnotation {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, key, strings.Clone(value))
		}
	}
	rejected := status.TrimCluster(&trimmed.Status)
	for i := range trimmed.Status.Conditions {
		trimmed.Status.Conditions[i].Message = manifestcache.Intern(trimmed.Status.Conditions[i].Message)
	}
	count(&rejected)
	return trimmed, nil
}

// trimMetadata leaves an object its identity.
func trimMetadata(object any) (any, error) {
	m, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: trimMeta(&m.ObjectMeta)}, nil
}

func trimMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}
