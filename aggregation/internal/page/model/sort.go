// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
)

// Sort orders items in place as a query asks for; those of one rank by set, cluster and name.
func Sort(items []Item, q Query) {
	byName := func(a, b Item) int {
		return cmp.Or(compareKeys(a.Set.Key, b.Set.Key), merge.Compare(a.Row, b.Row))
	}
	switch q.Sort {
	case SortCluster:
		slices.SortFunc(items, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Row.Cluster, b.Row.Cluster), byName(a, b)) })
	case SortName:
		slices.SortFunc(items, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Row.App, b.Row.App), byName(a, b)) })
	case SortStarted:
		slices.SortFunc(items, func(a, b Item) int {
			return cmp.Or(cmp.Compare(b.Row.OperationStateStartedAt, a.Row.OperationStateStartedAt), byName(a, b))
		})
	case SortRevision:
		slices.SortFunc(items, func(a, b Item) int {
			return cmp.Or(cmp.Compare(a.Row.SyncRevision, b.Row.SyncRevision), byName(a, b))
		})
	default:
		sortWorst(items)
	}
}

// sortWorst keeps the order within a rank, which is that of [Items].
func sortWorst(items []Item) {
	var buckets [ranks][]Item
	for _, i := range items {
		n := rank(i.Row)
		buckets[n] = append(buckets[n], i)
	}
	at := 0
	for _, b := range buckets {
		at += copy(items[at:], b)
	}
}
