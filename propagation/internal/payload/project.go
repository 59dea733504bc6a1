// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// carriedProject returns the AppProject that the Application in a spec names, and the hash of the
// AppProject in the spec. The name is empty if no Application can be decoded. The hash is empty if
// the spec has no AppProject.
func carriedProject(spec *workv1.ManifestWorkSpec) (name, hash string) {
	manifests := spec.Workload.Manifests
	for i := len(manifests) - 1; i >= 0; i-- { // the Application is the last one
		var app deliveredApplication
		if json.Unmarshal(manifests[i].Raw, &app) != nil || app.Kind != argocd.ApplicationKind {
			continue
		}
		var s struct {
			Project string `json:"project"`
		}
		if len(app.Spec) == 0 || json.Unmarshal(app.Spec, &s) != nil {
			return "", ""
		}
		name = cmp.Or(s.Project, argocd.DefaultProject)
		break
	}
	for i := range manifests {
		var project deliveredObject
		if name != "" && json.Unmarshal(manifests[i].Raw, &project) == nil && project.Kind == argocd.AppProjectKind && project.Metadata.Name == name {
			return name, projectHash(project)
		}
	}
	return name, ""
}

// projectHash identifies a delivered AppProject. Its namespace does not count.
func projectHash(project deliveredObject) string {
	project.Metadata.Namespace = ""
	raw, err := encode("AppProject", project)
	if err != nil {
		return "" // it was decoded or encoded before
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Outdated reports whether the AppProject in a work differs from the hub's of the same name, which
// is delivered without the label instanceLabel. A work without an AppProject is not outdated. If
// the hub's AppProject has invalid sync windows, the work is outdated, and the write reports the
// error.
func Outdated(work *manifestcache.Work, project *argocd.AppProject, instanceLabel string) bool {
	if work.Stored.ProjectHash == "" || project.Name != work.Stored.Project {
		return false
	}
	raw, err := projectManifest(project, "", work.Namespace, instanceLabel)
	if err != nil {
		return true
	}
	var desired deliveredObject
	return json.Unmarshal(raw, &desired) != nil || projectHash(desired) != work.Stored.ProjectHash
}
