// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// advice is what gives the account the one right that it needs. It is granted by
// the manifests of this project; an operator who changes them finds this in the log.
const advice = "grant the ServiceAccount \"get\" on searches/allManagedData in search.open-cluster-management.io by a ClusterRoleBinding"

// adviceFineGrained is for the one configuration in which that right gives nothing.
const adviceFineGrained = "with fine-grained RBAC (annotation fine-grained-rbac of the search operator) that right gives nothing: " +
	"grant the ServiceAccount UserPermissions for argoproj.io/applications and every deployed kind"

// checkAccess checks now and then whether the account sees what it should: search
// hides what an account may not see without a word. It returns an error as long as
// the account sees nothing at all of a fleet; have is true when it sees Applications.
func (p *Poller) checkAccess(ctx context.Context, view fleet.View, have bool, until time.Time) error {
	if p.accessDue() {
		p.readAccess(ctx, view, until)
	}
	p.accessError = nil
	if have || len(view.Clusters) == 0 || p.seen == nil || slices.ContainsFunc(view.Clusters, func(c string) bool { return p.seen[c] }) {
		return nil
	}
	p.accessError = &search.Error{Kind: search.KindAccess, Detail: fmt.Sprintf("search shows none of %d managed clusters", len(view.Clusters))}
	failures.WithLabelValues(string(search.KindAccess)).Inc()
	return p.accessError
}

// accessDue reports whether it is time to look. A cluster that may yet be read needs
// to know, since an empty answer about one that the account does not see is none.
func (p *Poller) accessDue() bool {
	if p.seen == nil || p.accessError != nil || time.Since(p.accessAt) >= accessEvery {
		return true
	}
	for c := range p.unread.process {
		if p.seen[c] {
			return true
		}
	}
	return false
}

// readAccess asks which clusters the account sees. When search does not answer, what
// was seen before stays.
func (p *Poller) readAccess(ctx context.Context, view fleet.View, until time.Time) {
	var r *search.Result
	if err := p.retry(ctx, until, attempts, func() (err error) { r, err = p.Search.Clusters(ctx); return err }); err != nil {
		return // the batches report what is wrong
	}
	p.reportAccess(view, r)
}

// reportAccess logs what the account does not see or should not see, once.
func (p *Poller) reportAccess(view fleet.View, r *search.Result) {
	p.accessAt = time.Now()
	p.seen = make(map[string]bool, len(r.Items))
	for i := range r.Items {
		p.seen[r.Items[i].Name] = true
	}
	advised, keys := accessAdvice(view, p.seen)
	if advised == p.loggedAdvice {
		return
	}
	p.loggedAdvice = advised
	if advised == "" {
		p.Log.Info("search shows every managed cluster again")
		return
	}
	p.Log.Error(nil, advised, keys...)
}

// accessAdvice compares the clusters that search shows with those that exist. It
// returns what an operator should do, "" when all is well.
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

// names lists a few of many.
func names(list []string) string {
	const few = 5
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
