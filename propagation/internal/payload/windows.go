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

// windowsFor returns the sync windows of an AppProject as they mean on a managed cluster
// what they say on the hub. Argo CD matches their clusters against the
// destination of the Application as it is written (SyncWindows.Matches), and there that is
// the cluster itself, by name or by server, unless an annotation names another one. The
// Applications of a project share it there, so it is the same for all of them: a window
// about the cluster is about both names, and what may be about another destination stays.
// Only a pattern that would be about the cluster by chance goes, and a window that thereby
// selects nothing.
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

// windowList returns the windows in a list; what is no list is the API server's affair.
func windowList(raw json.RawMessage) (windows []json.RawMessage) {
	if json.Unmarshal(raw, &windows) != nil {
		return nil
	}
	return windows
}

// syncWindow is what a sync window selects.
type syncWindow struct {
	Clusters     []string `json:"clusters"`
	Applications []string `json:"applications"`
	Namespaces   []string `json:"namespaces"`
	And          bool     `json:"andOperator"`
}

// windowFor returns one window as a cluster gets it; selects is false when nothing is left
// that it could select.
func windowFor(window json.RawMessage, cluster string) (delivered json.RawMessage, selects bool, err error) {
	var w syncWindow
	if err := json.Unmarshal(window, &w); err != nil || len(w.Clusters) == 0 {
		return window, true, nil //nolint:nilerr // nothing to rewrite, or nothing that Argo CD can read
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

// clustersFor returns the patterns of a window as a cluster gets them.
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

// Windowed reports whether a sync window of an AppProject would be about an Application on
// the managed cluster that it is delivered to, by the rules of Argo CD
// (SyncWindows.Matches). A spec that cannot be read has no windows.
func Windowed(project json.RawMessage, app *argocd.Application) bool {
	return slices.ContainsFunc(windowsOf(project, app), func(w windowOf) bool { return w.there })
}

// WindowEscaped reports whether a sync window of a delivered AppProject is about an
// Application on the hub, but not on its managed cluster, since an annotation names another
// destination there.
func WindowEscaped(project json.RawMessage, app *argocd.Application) bool {
	return slices.ContainsFunc(windowsOf(project, app), func(w windowOf) bool { return w.hub && !w.there })
}

// windowOf is whether a window is about an Application on the hub, by the managed cluster
// that it is delivered to, and on that cluster.
type windowOf struct{ hub, there bool }

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
		var hub, there syncWindow
		if json.Unmarshal(raw, &hub) != nil {
			continue // Argo CD cannot read it either
		}
		if delivered, _, err := windowFor(raw, cluster); err != nil || len(delivered) > 0 && json.Unmarshal(delivered, &there) != nil {
			continue
		}
		found = append(found, windowOf{
			hub:   hub.selects(app.Name, s.Destination.Namespace, cluster, contract.RegisteredServer(cluster)),
			there: there.selects(app.Name, s.Destination.Namespace, name, server),
		})
	}
	return found
}

// matchesAny reports whether a pattern matches one of some values that are given.
func matchesAny(p string, values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return v != "" && pattern.Glob(p, v) })
}

// selects reports whether a window is about an Application of that destination.
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
