// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// WithoutAutomation takes spec.syncPolicy.automated out of the Application that a work
// delivers; everything else in it stays as it is.
func WithoutAutomation(spec *workv1.ManifestWorkSpec) error {
	for i := range spec.Workload.Manifests {
		m := &spec.Workload.Manifests[i]
		id, err := idOf(m.Raw)
		if err != nil {
			return err
		}
		if id.Kind != argocd.ApplicationKind {
			continue
		}
		if m.Raw, err = withoutMember(m.Raw, "automated", "spec", "syncPolicy"); err != nil {
			return fmt.Errorf("delivered Application %s/%s: %w", id.Namespace, id.Name, err)
		}
	}
	return nil
}

// PausePatch returns the JSON patch that gives a work the spec and marks it as one
// whose Application does not sync by itself.
func PausePatch(current *manifestcache.Work, spec *workv1.ManifestWorkSpec) (json.RawMessage, error) {
	patch := []patchOperation{{"replace", "/metadata/resourceVersion", current.ResourceVersion}}
	if !current.Stored.Annotated {
		patch = append(patch, patchOperation{"add", "/metadata/annotations", struct{}{}})
	}
	return encode("ManifestWork patch", append(patch,
		patchOperation{"add", "/metadata/annotations/" + pointer.Replace(contract.PausedAnnotation), "sync"},
		patchOperation{"replace", "/spec", spec}))
}
