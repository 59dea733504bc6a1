// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
)

// Item is one Application on one cluster.
type Item struct {
	Set *Set
	Row *merge.Row
}

// ID tells the item from every other one, in a few characters.
func (i Item) ID() string { return ID(i.Row.App) }

// ID returns a short name for a long one.
func ID(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return strconv.FormatUint(h.Sum64(), 36)
}

// Items returns the Applications of ApplicationSets; with a cluster, those on it.
func Items(sets []*Set, cluster string) []Item {
	n := 0
	for _, s := range sets {
		n += len(s.Rows)
	}
	if cluster != "" {
		n = 0
	}
	items := make([]Item, 0, n)
	for _, s := range sets {
		rows := s.Rows
		if cluster != "" {
			rows = s.On(cluster)
		}
		for _, r := range rows {
			items = append(items, Item{s, r})
		}
	}
	return items
}

// Filter returns the items that a query asks for.
func Filter(items []Item, q Query) []Item {
	if !q.filters() {
		return items
	}
	var kept []Item
	for _, i := range items {
		if q.miss(i) == 0 {
			kept = append(kept, i)
		}
	}
	return kept
}

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

// Page is a part of a list.
type Page struct {
	// Number begins at 1; Last is the number of the last one.
	Number, Last int
	// From and To are the places of the first and last item, from 1; Total is of the list.
	From, To, Total int
	// Beyond: a page after the last was asked for.
	Beyond bool
}

// Slice returns the page that a query asks for out of total items; the items are
// those from From-1 up to To.
func Slice(total int, q Query) Page {
	p := Page{Number: q.Page, Last: max(1, (total+q.Size-1)/q.Size), Total: total}
	if p.Number > p.Last {
		p.Number, p.Beyond = p.Last, true
	}
	p.To = min(total, p.Number*q.Size)
	p.From = min(p.To, (p.Number-1)*q.Size+1)
	return p
}

// contains reports whether a row has a text in one of its names, ignoring case.
func contains(i Item, text string) bool {
	for _, s := range []string{i.Row.App, i.Row.SyncRevision, i.Set.Key.Name} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	for c := range i.Row.Conditions {
		if strings.Contains(strings.ToLower(i.Row.Conditions[c].Message), text) {
			return true
		}
	}
	return false
}
