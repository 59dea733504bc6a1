// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Compact is the transform of the ManifestWork cache. It replaces each ManifestWork by a
// [manifestcache.Work], and trims the ManifestWork.
var Compact = manifestcache.Transform(nil, count)

// keyOf is the key of a work.
func keyOf(w *manifestcache.Work) types.NamespacedName {
	return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
}

// belongs reports whether the work has a row in a report. Its agent may write any annotation. But
// an ApplicationSet only creates Applications in its own namespace, and the name of a work, which
// nothing can change, begins with the Application's. It may still name another Application of that
// name. Only the hub's Applications could show that.
func belongs(w *manifestcache.Work) bool {
	set, ok := w.ApplicationSet()
	prefix := w.HubName + "-"
	return ok && w.HubName != "" && set.Namespace == w.HubNamespace && strings.HasPrefix(w.Name, prefix[:min(len(prefix), maxPrefix)])
}

// maxPrefix is how many bytes of an Application's name the name of its ManifestWork always has
// (see contract.SafeWorkName).
const maxPrefix = 170

// setOf returns the ApplicationSet with a row for the work in its report.
func setOf(w *manifestcache.Work) types.NamespacedName {
	set, _ := w.ApplicationSet()
	return set
}

// placeOf returns where the Application is delivered. Without a namespace that is not known yet.
func placeOf(w *manifestcache.Work) place { return place{w.Namespace, w.AppNamespace, w.HubName} }

// appOf is the identity of the row.
func appOf(w *manifestcache.Work) merge.App {
	return merge.App{HubNamespace: w.HubNamespace, HubName: w.HubName, Cluster: w.Namespace, Work: w.Name}
}

// applicationOf is the hub Application.
func applicationOf(w *manifestcache.Work) types.NamespacedName {
	return types.NamespacedName{Namespace: w.HubNamespace, Name: w.HubName}
}

// sameRow reports whether another version of the work still makes the same row of the
// same report.
func sameRow(a, b *manifestcache.Work) bool {
	return setOf(a) == setOf(b) && applicationOf(a) == applicationOf(b)
}
