// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"
)

// Sort sorts items in place by the order of a query, and equal items by set, cluster and name.
func Sort(items []Item, q Query) {
	byName := func(a, b Item) int {
		return cmp.Or(compareKeys(a.Set.Key, b.Set.Key), compareApps(a.Row, b.Row))
	}
	switch q.Sort {
	case SortCluster:
		slices.SortFunc(items, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Row.Cluster, b.Row.Cluster), byName(a, b)) })
	case SortName:
		slices.SortFunc(items, func(a, b Item) int { return cmp.Or(cmp.Compare(a.Row.Name, b.Row.Name), byName(a, b)) })
	case SortStarted:
		slices.SortFunc(items, func(a, b Item) int {
			return cmp.Or(cmp.Compare(b.Row.Started, a.Row.Started), byName(a, b))
		})
	case SortRevision:
		slices.SortFunc(items, func(a, b Item) int {
			return cmp.Or(cmp.Compare(a.Row.Revision, b.Row.Revision), byName(a, b))
		})
	default:
		sortWorst(items)
	}
}

// sortWorst keeps the order of [Items] within a rank.
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
