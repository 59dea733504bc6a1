// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"fmt"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// globalLists are the lists of an AppProject that Argo CD extends by the lists of a global project
// (util/argo, mergeVirtualProject).
var globalLists = []string{
	"clusterResourceWhitelist", "clusterResourceBlacklist", "namespaceResourceWhitelist", "namespaceResourceBlacklist",
	"syncWindows", "sourceRepos", "destinations", "destinationServiceAccounts",
}

// WithGlobal returns the spec of an AppProject with the lists of a global project. The delivered
// AppProject needs them, because a managed cluster does not have the global project.
func WithGlobal(spec, global json.RawMessage) (json.RawMessage, error) {
	from, err := members(global)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	for _, name := range globalLists {
		var further []json.RawMessage
		if err := decode(from[name], &further); err != nil {
			return nil, fmt.Errorf("spec.%s: %w", name, err)
		}
		if len(further) == 0 {
			continue
		}
		if spec, err = edit(spec, func(raw json.RawMessage) (json.RawMessage, error) {
			var own []json.RawMessage
			if err := decode(raw, &own); err != nil {
				return nil, err
			}
			return encode(name, append(own, further...))
		}, name); err != nil {
			return nil, fmt.Errorf("spec.%w", err)
		}
	}
	return spec, nil
}

// serviceAccountsFor returns the entries of destinationServiceAccounts for a cluster. Argo CD takes
// the first entry with a server that matches the destination. On the managed cluster, that is the
// cluster itself, as with sync windows.
func serviceAccountsFor(entries []json.RawMessage, cluster string) ([]json.RawMessage, error) {
	var kept []json.RawMessage
	for _, entry := range entries {
		fields, err := members(entry)
		if err != nil {
			return nil, err
		}
		var server string
		if json.Unmarshal(fields["server"], &server) != nil {
			kept = append(kept, entry) // Argo CD cannot decode it either
			continue
		}
		servers := slices.DeleteFunc(clustersFor([]string{server}, cluster), func(s string) bool {
			return s == argocd.InClusterName && s != server // a cluster's name is not a server
		})
		if slices.Equal(servers, []string{server}) {
			kept = append(kept, entry)
			continue
		}
		for _, s := range servers {
			if fields["server"], err = encode("server", s); err != nil {
				return nil, err
			}
			delivered, err := encode("an entry", fields)
			if err != nil {
				return nil, err
			}
			kept = append(kept, delivered)
		}
	}
	return kept, nil
}
