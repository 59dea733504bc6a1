// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// advice is what gives the account the one right that it needs. It is granted by
// the manifests of this project; whoever changes them reads this in the log.
const advice = "grant the ServiceAccount \"get\" on searches/allManagedData in search.open-cluster-management.io by a ClusterRoleBinding"

// checkAccess looks now and then whether the account sees what it should: search
// hides what an account may not see without a word.
func (p *Poller) checkAccess(ctx context.Context, view fleet.View) {
	if !p.accessAt.IsZero() && time.Since(p.accessAt) < accessEvery {
		return
	}
	r, err := p.Search.Clusters(ctx)
	if err != nil {
		return // the batches tell what is wrong
	}
	p.reportAccess(view, r)
}

// reportAccess says what the account does not see or should not see, once.
func (p *Poller) reportAccess(view fleet.View, r *search.Result) {
	p.accessAt = time.Now()
	said, keys := judgeAccess(view, r.Items)
	if said == p.accessSaid {
		return
	}
	p.accessSaid = said
	if said == "" {
		p.Log.Info("search shows every managed cluster again")
		return
	}
	failures.WithLabelValues(string(search.KindAccess)).Inc()
	p.Log.Info(said, keys...)
}

// judgeAccess compares the clusters that search shows with those that exist. It
// returns what an operator should do, "" when all is well.
func judgeAccess(view fleet.View, rows []search.Item) (advised string, keys []any) {
	seen := map[string]bool{}
	for i := range rows {
		seen[rows[i].Name] = true
	}
	var hidden, hub []string
	for _, c := range view.Clusters {
		if !seen[c] {
			hidden = append(hidden, c)
		}
	}
	for _, c := range append(slices.Clone(view.Hub), "local-cluster") {
		if seen[c] && !slices.Contains(hub, c) {
			hub = append(hub, c)
		}
	}
	switch {
	case len(hidden) > 0 && len(hub) > 0:
		return "search shows the hub and hides managed clusters: it has mistaken one for the other (its rule for searches/allManagedData picks the wrong cluster as hub); " +
				"restore the search index or grant \"create\" on managedclusterviews in view.open-cluster-management.io for all clusters",
			[]any{"hidden", names(hidden), "hub", names(hub)}
	case len(hidden) > 0 && len(seen) == 0:
		return "search shows no cluster at all: " + advice +
				"; with fine-grained RBAC (annotation fine-grained-rbac of the search operator) that right gives nothing: grant the ServiceAccount UserPermissions for argoproj.io/applications and every deployed kind",
			[]any{"hidden", names(hidden)}
	case len(hidden) > 0:
		return "search does not show every managed cluster: " + advice + ", or see whether the search add-on runs there",
			[]any{"hidden", names(hidden)}
	case len(hub) > 0:
		return "the account sees the hub's own objects in search, which is more than it needs: " + advice + " and nothing more",
			[]any{"hub", names(hub)}
	}
	return "", nil
}

// names lists a few of many.
func names(list []string) string {
	const few = 5
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
