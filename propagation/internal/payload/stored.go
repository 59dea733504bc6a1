// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// CarriedRequest returns r with the operation and the refresh of the Application in a stored spec.
// It returns an error if the Application cannot be decoded.
func CarriedRequest(spec *workv1.ManifestWorkSpec, r request.Request) (request.Request, error) {
	manifests := spec.Workload.Manifests
	if len(manifests) == 0 {
		return r, nil // another writer has emptied the spec
	}
	var app deliveredApplication
	if err := json.Unmarshal(manifests[len(manifests)-1].Raw, &app); err != nil {
		return r, err
	}
	r.Operation, r.Refresh = app.Operation, app.Metadata.Annotations[argocd.RefreshAnnotation]
	return r, nil
}

// TakeProjects replaces the AppProjects in spec by the AppProjects of the same name in want. It
// reports whether one differed.
func TakeProjects(spec, want *workv1.ManifestWorkSpec) (changed bool, err error) {
	wanted := map[deliveredID]json.RawMessage{}
	for _, m := range want.Workload.Manifests {
		id, err := idOf(m.Raw)
		if err != nil {
			return false, err
		}
		wanted[id] = m.Raw
	}
	for i := range spec.Workload.Manifests {
		m := &spec.Workload.Manifests[i]
		id, err := idOf(m.Raw)
		if err != nil {
			return false, err
		}
		if raw, exists := wanted[id]; exists && id.Kind == argocd.AppProjectKind && !bytes.Equal(raw, m.Raw) {
			m.Raw, changed = raw, true
		}
	}
	return changed, nil
}

// UpdateProject replaces the AppProject of that name in a stored spec by the hub's. It reports
// whether it differed. Other AppProjects stay as they are, because only an agent has added them.
func UpdateProject(spec *workv1.ManifestWorkSpec, cluster, instanceLabel string, project *argocd.AppProject) (changed bool, err error) {
	for i := range spec.Workload.Manifests {
		m := &spec.Workload.Manifests[i]
		id, err := idOf(m.Raw)
		if err != nil {
			return false, err
		}
		if id.Kind != argocd.AppProjectKind || id.Name != project.Name {
			continue
		}
		raw, err := projectManifest(project, id.Namespace, cluster, instanceLabel)
		if err != nil {
			return false, err
		}
		if !bytes.Equal(raw, m.Raw) {
			m.Raw, changed = raw, true
		}
	}
	return changed, nil
}

// SpecPatch returns the JSON patch that writes the changed spec of a work.
func SpecPatch(work *workv1.ManifestWork) (json.RawMessage, error) {
	return patchOf(work.ResourceVersion, patchOperation{"replace", "/spec", &work.Spec})
}
