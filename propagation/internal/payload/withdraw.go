// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Words of the on-withdraw annotation.
const (
	WithdrawPrune  = "prune"  // what is delivered goes, as without the annotation
	WithdrawOrphan = "orphan" // it stays and is nobody's of the hub
)

// Orphans reports whether a stored work asks that what it delivers stays.
func Orphans(work *workv1.ManifestWork) bool {
	return work.Spec.DeleteOption != nil && work.Spec.DeleteOption.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan
}

// OnDeletePatch returns the JSON patch that gives a stored work what [OnDelete] says, and
// leaves the rest of it alone.
func OnDeletePatch(stored *workv1.ManifestWork, orphan bool) (json.RawMessage, error) {
	patch := []patchOperation{{"replace", "/metadata/resourceVersion", stored.ResourceVersion}}
	if len(stored.Annotations) == 0 {
		patch = append(patch, patchOperation{"add", "/metadata/annotations", struct{}{}})
	}
	path := "/metadata/annotations/" + pointer.Replace(contract.OnWithdrawAnnotation)
	if orphan {
		patch = append(patch, patchOperation{"add", path, WithdrawOrphan})
	} else if _, there := stored.Annotations[contract.OnWithdrawAnnotation]; there {
		patch = append(patch, patchOperation{"remove", path, nil})
	}
	return encode("ManifestWork patch", append(patch, patchOperation{"add", "/spec/deleteOption", deleteOption(&stored.Spec, orphan)}))
}
