// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

var (
	workLabelKeys      = []string{contract.PullLabel, contract.ApplicationSetLabel, contract.ApplicationSetHashLabel}
	workAnnotationKeys = []string{contract.HubNamespaceAnnotation, contract.HubNameAnnotation, contract.HubUIDAnnotation, contract.HostingAnnotation, contract.RequestAnnotation, contract.ChangeGenerationAnnotation, contract.StoredSpecAnnotation, contract.PausedAnnotation, contract.ObservedAnnotation, contract.OnWithdrawAnnotation, contract.OnWithdrawByAnnotation}
)

// Patch returns the JSON patch that changes current into the desired work. It returns nil if they
// are equal. base is the hash of the desired spec without its request. The note about a stored spec
// stays if the spec is not written. The hash of the Application's spec is written only together
// with the spec. Labels and annotations of other writers stay.
//
// It is not a merge patch. With those, the API server drops every null in a list, and the manifests
// are a list. A null in Helm values, which removes a default of the chart, would be lost.
func Patch(current *manifestcache.Work, want *workv1.ManifestWork, withSpec bool, base string) (json.RawMessage, error) {
	keepGeneration(current, want, withSpec, base)
	if noted, exists := current.Annotations[contract.StoredSpecAnnotation]; exists && !withSpec {
		want.Annotations[contract.StoredSpecAnnotation] = noted
	}
	annotations := workAnnotationKeys
	if withSpec {
		annotations = append(slices.Clone(annotations), contract.ApplicationSpecAnnotation)
	}
	patch := changes("/metadata/labels", current.Stored.Labelled, current.Labels, want.Labels, workLabelKeys)
	patch = append(patch, changes("/metadata/annotations", current.Stored.Annotated, current.AllAnnotations(), want.Annotations, annotations)...)
	if withSpec {
		patch = append(patch, patchOperation{"replace", "/spec", &want.Spec})
	}
	return patchOf(current.ResourceVersion, patch...)
}

// changes returns the operations that set the desired values of keys in the map at path. If there
// is false, the map does not exist yet.
func changes(path string, exists bool, current, want map[string]string, keys []string) []patchOperation {
	var patch []patchOperation
	if !exists {
		patch = append(patch, patchOperation{"add", path, struct{}{}})
	}
	start := len(patch)
	for _, key := range keys {
		value, wanted := want[key]
		is, exists := current[key]
		switch {
		case wanted && (!exists || value != is):
			patch = append(patch, patchOperation{"add", path + "/" + pointer.Replace(key), value})
		case exists && !wanted:
			patch = append(patch, patchOperation{"remove", path + "/" + pointer.Replace(key), nil})
		}
	}
	if len(patch) == start {
		return nil
	}
	return patch
}
