// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// DeliveredAnnotation exists on cached works only. It holds the namespace of the
// Application that the work delivers when that is not the hub Application's, and
// [deliversOther] when the work delivers no Application of the hub Application's name.
const DeliveredAnnotation = "cache.propagation/delivered-namespace"

// deliversOther is no legal namespace.
const deliversOther = "-"

// Delivered returns the namespace and name of the Application that a work delivers
// on its managed cluster. ok is false when it delivers none under the name of the
// hub Application that its annotations name. The work is a cached one, or one that
// was packed and unpacked.
func Delivered(work metav1.Object) (app types.NamespacedName, ok bool) {
	app, named := Claimant(work)
	switch namespace := work.GetAnnotations()[DeliveredAnnotation]; {
	case !named || namespace == deliversOther:
		return types.NamespacedName{}, false
	case namespace != "":
		app.Namespace = namespace
	}
	return app, true
}

// deliveredTo returns the value of [DeliveredAnnotation] for a work with its spec.
func deliveredTo(work *workv1.ManifestWork) string {
	app, named := Claimant(work)
	if !named || len(work.Spec.Workload.Manifests) == 0 {
		return ""
	}
	switch there := DeliveredBy(&work.Spec); {
	case there.Name != app.Name:
		return deliversOther
	case there.Namespace != app.Namespace:
		return there.Namespace
	}
	return ""
}

// DeliveredBy returns the namespace and name of the Application in a spec, empty
// without one. Our own specs name it in their options; those of others are decoded.
func DeliveredBy(spec *workv1.ManifestWorkSpec) types.NamespacedName {
	for i := range spec.ManifestConfigs {
		if id := &spec.ManifestConfigs[i].ResourceIdentifier; id.Group == argocd.Group && id.Resource == argocd.ApplicationPlural {
			return types.NamespacedName{Namespace: id.Namespace, Name: id.Name}
		}
	}
	for i := range spec.Workload.Manifests {
		var o metav1.PartialObjectMetadata
		if json.Unmarshal(spec.Workload.Manifests[i].Raw, &o) == nil &&
			o.Kind == argocd.ApplicationKind && o.GroupVersionKind().Group == argocd.Group {
			return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
		}
	}
	return types.NamespacedName{}
}
