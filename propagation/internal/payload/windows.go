// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/argocd/pattern"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// windowsFor returns the spec of an AppProject whose sync windows mean on a managed
// cluster what they say on the hub. Argo CD matches their clusters against the
// destination of the Application (SyncWindows.Matches), and there that is the cluster
// itself: a pattern for the cluster's name, or for the server it is registered with,
// becomes that, others match nowhere and go. One that names the cluster itself in Argo CD's way
// stays what it is. A window that thereby selects nothing goes as a
// whole. Everything else stays byte for byte, and so does a spec without such windows.
func windowsFor(spec json.RawMessage, cluster string) (json.RawMessage, error) {
	fields, err := members(spec)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	var windows []json.RawMessage
	if raw := fields["syncWindows"]; len(raw) == 0 || json.Unmarshal(raw, &windows) != nil {
		return spec, nil //nolint:nilerr // what is no list is the API server's affair
	}
	kept := make([]json.RawMessage, 0, len(windows))
	changed := false
	for _, window := range windows {
		mine, selects, err := windowFor(window, cluster)
		if err != nil {
			return nil, fmt.Errorf("spec.syncWindows: %w", err)
		}
		if changed = changed || !selects || !bytes.Equal(mine, window); selects {
			kept = append(kept, mine)
		}
	}
	if !changed {
		return spec, nil
	}
	if fields["syncWindows"], err = encode("syncWindows", kept); err != nil {
		return nil, err
	}
	return encode("spec", fields)
}

// syncWindow is what a sync window selects.
type syncWindow struct {
	Clusters     []string `json:"clusters"`
	Applications []string `json:"applications"`
	Namespaces   []string `json:"namespaces"`
	And          bool     `json:"andOperator"`
}

// windowFor returns one window as a cluster gets it; selects is false when it is none
// of the cluster's.
func windowFor(window json.RawMessage, cluster string) (mine json.RawMessage, selects bool, err error) {
	var says syncWindow
	if err := json.Unmarshal(window, &says); err != nil || len(says.Clusters) == 0 {
		return window, true, nil //nolint:nilerr // nothing to rewrite, or nothing that Argo CD can read
	}
	here := false
	for _, c := range says.Clusters {
		here = here || pattern.Glob(c, cluster) || pattern.Glob(c, contract.RegisteredServer(cluster)) || pattern.Glob(c, argocd.InClusterServer)
	}
	if !here && (says.And || len(says.Applications)+len(says.Namespaces) == 0) {
		return nil, false, nil
	}
	fields, err := members(window)
	if err != nil {
		return nil, false, err
	}
	delete(fields, "clusters")
	if here {
		if fields["clusters"], err = encode("clusters", []string{argocd.InClusterServer}); err != nil {
			return nil, false, err
		}
	}
	mine, err = encode("a window", fields)
	return mine, true, err
}

// Windowed reports whether a sync window of an AppProject would be about an Application on
// the managed cluster that it is delivered to, by the rules of Argo CD
// (SyncWindows.Matches). A spec that cannot be read has no windows.
func Windowed(project json.RawMessage, app *argocd.Application) bool {
	spec, err := windowsFor(project, app.Annotations[contract.ClusterAnnotation])
	if err != nil {
		return false
	}
	var p struct {
		SyncWindows []syncWindow `json:"syncWindows"`
	}
	var s struct {
		Destination struct {
			Namespace string `json:"namespace"`
		} `json:"destination"`
	}
	if json.Unmarshal(spec, &p) != nil || json.Unmarshal(app.Spec, &s) != nil {
		return false
	}
	name, server := Destination(app.Annotations)
	for _, w := range p.SyncWindows {
		if w.selects(app.Name, s.Destination.Namespace, name, server) {
			return true
		}
	}
	return false
}

// selects reports whether a delivered window is about an Application.
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
		if slices.ContainsFunc(list.patterns, func(p string) bool {
			return slices.ContainsFunc(list.values, func(v string) bool { return v != "" && pattern.Glob(p, v) })
		}) {
			met++
		}
	}
	return met > 0 && (!w.And || met == given)
}
