// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"
	"fmt"

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

// windowFor returns one window as a cluster gets it; selects is false when it is none
// of the cluster's.
func windowFor(window json.RawMessage, cluster string) (mine json.RawMessage, selects bool, err error) {
	var says struct {
		Clusters     []string `json:"clusters"`
		Applications []string `json:"applications"`
		Namespaces   []string `json:"namespaces"`
		And          bool     `json:"andOperator"`
	}
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
