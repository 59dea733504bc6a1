// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// advice is the remedy in the log if the account lacks the one right that it needs. The manifests
// of this project grant the right. Operators who change the manifests need the advice.
const advice = "grant the ServiceAccount \"get\" on searches/allManagedData in search.open-cluster-management.io by a ClusterRoleBinding"

// adviceFineGrained is for the one configuration in which that right gives nothing.
const adviceFineGrained = "with fine-grained RBAC (annotation fine-grained-rbac of the search operator) that right gives nothing: " +
	"grant the ServiceAccount UserPermissions for argoproj.io/applications and every deployed kind"

const accessEvery = 5 * time.Minute // search itself remembers access rights that long

// access is which clusters search shows to the account. Search hides clusters that an account may
// not see, without an error.
type access struct {
	seen   map[string]bool // nil if not read yet
	at     time.Time       // when seen was last read
	denied bool            // the account does not see the clusters of the fleet
	wanted bool            // an answer was empty, which counts only for a visible cluster
}

// due reports whether it is time to read it again.
func (a *access) due(now time.Time) bool {
	return a.seen == nil || a.denied || a.wanted || now.Sub(a.at) >= accessEvery
}

// shows reports whether search may show a cluster, according to the last check.
func (a *access) shows(cluster string) bool { return a.seen == nil || a.seen[cluster] }

// set takes over which clusters search shows.
func (a *access) set(r *search.Result, now time.Time) {
	a.at, a.wanted, a.seen = now, false, make(map[string]bool, len(r.Items))
	for i := range r.Items {
		if it := &r.Items[i]; it.IsCluster() {
			a.seen[it.Name] = true
		}
	}
}

// check returns an error as long as search shows no cluster of a fleet to the account. have is true
// if search shows Applications.
func (a *access) check(view fleet.View, have bool) error {
	a.denied = !have && len(view.Clusters) > 0 && a.seen != nil && !slices.ContainsFunc(view.Clusters, func(c string) bool { return a.seen[c] })
	if !a.denied {
		return nil
	}
	failures.WithLabelValues(string(search.KindAccess)).Inc()
	return &search.Error{Kind: search.KindAccess, Detail: fmt.Sprintf("search shows none of %d managed clusters", len(view.Clusters))}
}

// accessAdvice compares the clusters that search shows with the existing clusters. It returns a
// remedy for the operator, or "" if search shows all clusters.
func accessAdvice(view fleet.View, seen map[string]bool) (advised string, keys []any) {
	var hidden, hub []string
	for _, c := range view.Clusters {
		if !seen[c] {
			hidden = append(hidden, c)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(seen)) {
		if slices.Contains(view.Hub, c) || contract.IsHub(c, nil) {
			hub = append(hub, c)
		}
	}
	switch {
	case len(hidden) > 0 && len(hub) > 0:
		return "search shows the hub and hides managed clusters: it has mistaken one for the other (its rule for searches/allManagedData picks the wrong cluster as hub); " +
				"restore the search index or grant \"create\" on managedclusterviews in view.open-cluster-management.io for all clusters",
			[]any{"hidden", names(hidden), "hub", names(hub)}
	case len(hidden) > 0 && len(seen) == 0:
		return "search shows no cluster at all: " + advice + "; " + adviceFineGrained, []any{"hidden", names(hidden)}
	case len(hidden) > 0:
		return "search does not show every managed cluster: " + advice + ", or see whether the search add-on runs there",
			[]any{"hidden", names(hidden)}
	case len(hub) > 0:
		return "the account sees the hub's own objects in search, which is more than it needs: " + advice + " and nothing more",
			[]any{"hub", names(hub)}
	}
	return "", nil
}
