// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/workindex"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Caches returns what the cache holds of the objects that this package watches:
// what somebody reads, no more. argocdNamespace is where AppProjects live.
func Caches(argocdNamespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&argocd.Application{}: {Transform: trimApplication},
		&workv1.ManifestWork{}: {
			Label:     pulledWorks,
			Transform: trimWork,
		},
		&argocd.AppProject{}:                {Namespaces: map[string]cache.Config{argocdNamespace: {}}, Transform: trimMetadata},
		&clusterv1.ManagedCluster{}:         {Transform: trimCluster},
		&clusterv1beta1.PlacementDecision{}: {Transform: trimMetadata},
	}
}

func trimMetadata(in any) (any, error) {
	if o, ok := in.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return in, nil
}

// bulky is the size from which a status is worth taking apart.
const bulky = 1024

// trimApplication drops what nobody reads: kubectl's copy of the object, and the
// lists of resources and history that a hub's own Argo CD may have left behind.
// What is left out of a status is never written either: all patches are merges.
func trimApplication(in any) (any, error) {
	app, ok := in.(*argocd.Application)
	if !ok {
		return in, nil
	}
	internMeta(&app.ObjectMeta)
	app.TypeMeta = metav1.TypeMeta{}
	if _, there := app.Annotations[corev1.LastAppliedConfigAnnotation]; there {
		app.Annotations = maps.Clone(app.Annotations)
		delete(app.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	app.Labels = internMap(app.Labels)
	app.Annotations = internKeys(app.Annotations)
	app.Spec = internSpec(app.Spec)
	if len(app.Status) > bulky {
		app.Status = trimStatus(app.Status)
	}
	return app, nil
}

func trimStatus(status json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(status, &fields); err != nil {
		return status // whoever reads it says so
	}
	for _, name := range []string{"resources", "history", "summary"} {
		delete(fields, name)
	}
	trimmed, err := json.Marshal(fields)
	if err != nil {
		return status
	}
	return trimmed
}

// trimWork packs a work, with a hash in place of its spec.
func trimWork(in any) (any, error) {
	work, ok := in.(*workv1.ManifestWork)
	if !ok {
		return in, nil // a tombstone, or trimmed before
	}
	annotations := work.Annotations
	if annotations == nil {
		annotations = map[string]string{}
	}
	// A spec that cannot be hashed is not one of ours: no hash, and it is mended.
	annotations[payload.HashAnnotation], _ = payload.SpecHash(&work.Spec)
	delete(annotations, payload.BaseHashAnnotation)
	if annotations[contract.RequestAnnotation] != "" {
		annotations[payload.BaseHashAnnotation], _ = payload.BaseHash(&work.Spec)
	}
	annotations[payload.ScrapeAnnotation] = payload.ScrapeType(&work.Spec)
	work.Annotations = annotations
	workindex.Bound(work, payload.HashAnnotation, payload.BaseHashAnnotation, payload.ScrapeAnnotation)
	internMeta(&work.ObjectMeta)
	work.Labels = internMap(work.Labels)
	return workindex.Pack(work), nil
}

func trimCluster(in any) (any, error) {
	if cluster, ok := in.(*clusterv1.ManagedCluster); ok {
		cluster.ManagedFields = nil
		workindex.BoundCluster(cluster)
	}
	return in, nil
}
