// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// GroupOf returns the group that a work is judged with.
func GroupOf(work metav1.Object) guard.Group {
	app, _ := manifestcache.ClaimantOf(work)
	namespace, set, ok := contract.SplitKey(work.GetAnnotations()[contract.HostingAnnotation])
	if !ok || namespace != app.Namespace {
		set = ""
	}
	return guard.Group{Namespace: app.Namespace, Set: set}
}

// deliveries counts the works of the cache that are not being deleted, by group.
func deliveries(index *manifestcache.Index) func(guard.Group) int {
	all, bySet, alone := 0, map[string]int{}, map[string]int{}
	for _, work := range index.All() {
		app, ours := work.Application()
		if !ours || work.DeletionTimestamp != nil {
			continue
		}
		all++
		if hash := work.GetLabels()[contract.ApplicationSetHashLabel]; hash != "" {
			bySet[hash]++
		} else {
			alone[app.Namespace]++
		}
	}
	return func(g guard.Group) int {
		switch {
		case g == guard.Group{}:
			return all
		case g.Set == "":
			return alone[g.Namespace]
		}
		return bySet[contract.ApplicationSetHash(g.Namespace, g.Set)]
	}
}
