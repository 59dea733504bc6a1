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

// carriedProject returns the name of the AppProject that the Application in a spec names, empty
// when the spec has no Application whose own spec can be read, and the hash of that AppProject's
// manifest, empty when the spec has none.
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

// projectHash identifies a delivered AppProject, whatever its namespace.
func projectHash(project deliveredObject) string {
	project.Metadata.Namespace = ""
	raw, err := encode("AppProject", project)
	if err != nil {
		return "" // it was decoded, or encoded, before
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Outdated reports whether the AppProject in a work is another than the hub's of the same name,
// which is delivered without the label instanceLabel. A work that carries none is not outdated, and
// one whose AppProject on the hub has invalid sync windows is: the write reports that.
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
