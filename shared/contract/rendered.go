// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// These are keys of rendered mode. There, the hub's Argo CD renders an Application and delivers its
// manifests in ManifestWorks.
const (
	// RenderedLabel is "true" on a rendered Application and on its ManifestWorks.
	RenderedLabel = group + "rendered"
	// RenderedApplicationAnnotation on such a work holds the Application's name in the form that
	// Argo CD passes to a plugin: "<namespace>_<name>" outside Argo CD's namespace.
	RenderedApplicationAnnotation = group + "rendered-application"
)

// RenderedWorkName returns the name of a rendered Application's ManifestWork. application is the
// name that Argo CD passes to a plugin, and suffix distinguishes the works of one Application.
// Without a suffix the work has the Application's name. With a suffix, the name ends in a hash of
// both, because another Application of the cluster may have the combined name. Names of more than
// 180 characters are cut and get a hash. The agent's object for the work has a prefix of 65
// characters.
func RenderedWorkName(application, suffix string) string {
	name := strings.ReplaceAll(application, "_", ".") + suffix
	if name != application {
		sum := sha256.Sum256([]byte(application + "\x00" + suffix))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return shorten(name, 180)
}

// RenderedResource is an entry of status.resources of an Argo CD Application.
type RenderedResource struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// ListedWork returns the name of a rendered Application's ManifestWork, from the resources in its
// status. If several exist, it returns the shortest name, and among names of equal length the first
// in order. work is empty if no such ManifestWork exists, for example before Argo CD has compared
// the Application.
func ListedWork(resources []RenderedResource, rejected *Rejected) (work string) {
	for _, r := range resources {
		name := ""
		if r.Kind == "ManifestWork" {
			name = Name(r.Name, rejected)
		}
		if name != "" && (work == "" || cmp.Or(len(name)-len(work), strings.Compare(name, work)) < 0) {
			work = name
		}
	}
	return work
}
