// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// DeliveredBy returns the namespace and name of the Application in a spec, or empty if it has none.
// Our own specs name it in their options. Other specs are decoded.
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

// These are the delivered objects. Their fields have the order in which the API server stores them,
// so that a stored work equals a written one.
type (
	deliveredApplication struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   deliveredMetadata `json:"metadata"`
		Operation  json.RawMessage   `json:"operation,omitempty"`
		Spec       json.RawMessage   `json:"spec"`
		Status     json.RawMessage   `json:"status,omitempty"`
	}
	deliveredObject struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   deliveredMetadata `json:"metadata"`
		Spec       json.RawMessage   `json:"spec,omitempty"`
	}
	deliveredMetadata struct {
		Annotations map[string]string `json:"annotations,omitempty"`
		Finalizers  []string          `json:"finalizers,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace,omitempty"`
	}
)

// deliveredID identifies a manifest within a work.
type deliveredID struct {
	Kind, Namespace, Name string
}

func idOf(manifest json.RawMessage) (deliveredID, error) {
	var o deliveredObject
	if err := json.Unmarshal(manifest, &o); err != nil {
		return deliveredID{}, fmt.Errorf("decode a manifest: %w", err)
	}
	return deliveredID{o.Kind, o.Metadata.Namespace, o.Metadata.Name}, nil
}
