// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/argocd/pattern"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// windowsFor returns the sync windows of an AppProject so that they select the same Applications on
// a managed cluster as on the hub. Argo CD matches their clusters with the destination of the
// Application as written (SyncWindows.Matches). On the managed cluster, the destination is the
// cluster itself, by name or by server, unless an annotation names another one.
//
// The Applications of a project share it on the cluster, so the result is the same for all of them.
// A window for the cluster gets both names. Patterns for other destinations stay. A pattern that
// would match the cluster only by chance is removed. A window that then selects nothing is removed
// as well.
func windowsFor(windows []json.RawMessage, cluster string) ([]json.RawMessage, error) {
	kept := make([]json.RawMessage, 0, len(windows))
	for _, window := range windows {
		delivered, selects, err := windowFor(window, cluster)
		if err != nil {
			return nil, err
		}
		if selects {
			kept = append(kept, delivered)
		}
	}
	return kept, nil
}

// windowList returns the windows in a list. The API server validates anything else.
func windowList(raw json.RawMessage) (windows []json.RawMessage) {
	if json.Unmarshal(raw, &windows) != nil {
		return nil
	}
	return windows
}

// syncWindow has the fields by which a sync window selects Applications.
type syncWindow struct {
	Clusters     []string `json:"clusters"`
	Applications []string `json:"applications"`
	Namespaces   []string `json:"namespaces"`
	And          bool     `json:"andOperator"`
}

// windowFor returns a window for a cluster. selects is false if it cannot select anything there.
func windowFor(window json.RawMessage, cluster string) (delivered json.RawMessage, selects bool, err error) {
	var w syncWindow
	if err := json.Unmarshal(window, &w); err != nil || len(w.Clusters) == 0 {
		return window, true, nil //nolint:nilerr // nothing to rewrite, or nothing that Argo CD can decode
	}
	clusters := clustersFor(w.Clusters, cluster)
	if slices.Equal(clusters, w.Clusters) {
		return window, true, nil
	}
	if len(clusters) == 0 && (w.And || len(w.Applications)+len(w.Namespaces) == 0) {
		return nil, false, nil
	}
	fields, err := members(window)
	if err != nil {
		return nil, false, err
	}
	delete(fields, "clusters")
	if len(clusters) > 0 {
		if fields["clusters"], err = encode("clusters", clusters); err != nil {
			return nil, false, err
		}
	}
	delivered, err = encode("a window", fields)
	return delivered, true, err
}

// clustersFor returns the cluster patterns of a window for a cluster.
func clustersFor(patterns []string, cluster string) []string {
	own := []string{argocd.InClusterName, argocd.InClusterServer}
	about := func(p string) bool {
		return p == argocd.InClusterName || matchesAny(p, []string{cluster, contract.RegisteredServer(cluster), argocd.InClusterServer})
	}
	kept := slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return !about(p) && matchesAny(p, own) })
	if !slices.ContainsFunc(kept, about) {
		return kept
	}
	for _, name := range own {
		if !slices.ContainsFunc(kept, func(p string) bool { return pattern.Glob(p, name) }) {
			kept = append(kept, name)
		}
	}
	return kept
}

// Windowed reports whether a sync window of an AppProject selects an Application on its managed
// cluster, by the rules of Argo CD (SyncWindows.Matches). A malformed spec has no windows.
func Windowed(project json.RawMessage, app *argocd.Application) bool {
	return slices.ContainsFunc(windowsOf(project, app), func(w windowOf) bool { return w.onCluster })
}

// WindowEscaped reports whether a sync window of a delivered AppProject selects an Application on
// the hub, but not on its managed cluster. The cause is an annotation that names another
// destination there.
func WindowEscaped(project json.RawMessage, app *argocd.Application) bool {
	return slices.ContainsFunc(windowsOf(project, app), func(w windowOf) bool { return w.hub && !w.onCluster })
}

// windowOf has two results for a window. hub is true if the window selects an Application with its
// managed cluster as the destination. there is true if it selects the Application on that cluster.
type windowOf struct{ hub, onCluster bool }

func windowsOf(project json.RawMessage, app *argocd.Application) []windowOf {
	var p struct {
		SyncWindows json.RawMessage `json:"syncWindows"`
	}
	var s struct {
		Destination struct {
			Namespace string `json:"namespace"`
		} `json:"destination"`
	}
	if json.Unmarshal(project, &p) != nil || json.Unmarshal(app.Spec, &s) != nil {
		return nil
	}
	cluster := app.Annotations[contract.ClusterAnnotation]
	name, server := Destination(app.Annotations)
	var found []windowOf
	for _, raw := range windowList(p.SyncWindows) {
		var hub, existing syncWindow
		if json.Unmarshal(raw, &hub) != nil {
			continue // Argo CD cannot decode it either
		}
		if delivered, _, err := windowFor(raw, cluster); err != nil || len(delivered) > 0 && json.Unmarshal(delivered, &existing) != nil {
			continue
		}
		found = append(found, windowOf{
			hub:       hub.selects(app.Name, s.Destination.Namespace, cluster, contract.RegisteredServer(cluster)),
			onCluster: existing.selects(app.Name, s.Destination.Namespace, name, server),
		})
	}
	return found
}

// matchesAny reports whether a pattern matches one of the values that are not empty.
func matchesAny(p string, values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return v != "" && pattern.Glob(p, v) })
}

// selects reports whether a window selects an Application with that destination.
func (w syncWindow) selects(app, namespace, name, server string) bool {
	given, met := 0, 0
	for _, list := range []struct {
		patterns []string
		values   []string
	}{{w.Applications, []string{app}}, {w.Clusters, []string{name, server}}, {w.Namespaces, []string{namespace}}} {
		if len(list.patterns) == 0 {
			continue
		}
		given++
		if slices.ContainsFunc(list.patterns, func(p string) bool { return matchesAny(p, list.values) }) {
			met++
		}
	}
	return met > 0 && (!w.And || met == given)
}
