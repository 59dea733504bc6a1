// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"maps"
	"slices"
	"strings"
)

// View is the part of a table that is visible to a caller.
type View struct {
	table *Table
	sees  func(*entry) bool
}

// Scope is the set of clusters that a caller may read.
type Scope struct {
	// Everything also includes the hub's own objects.
	Everything bool
	// Managed includes every cluster except the hub.
	Managed bool
	// Clusters includes single clusters.
	Clusters map[string]bool
	// PseudoNodeFirst makes the service treat the first managed cluster as the hub. A Managed caller then
	// gets the hub's objects, and not the objects of that cluster.
	PseudoNodeFirst bool
	// Hidden lists clusters that no caller may read.
	Hidden map[string]bool
}

// View returns the view of a caller with a scope.
func (t *Table) View(scope Scope) View {
	hub := ""
	if scope.Managed {
		hub = t.hub(scope.PseudoNodeFirst)
	}
	return View{table: t, sees: func(e *entry) bool {
		if scope.Hidden[e.Cluster] {
			return false
		}
		return scope.Everything || scope.Clusters[e.Cluster] || scope.Managed && e.Cluster != hub
	}}
}

// hub returns the cluster that the service treats as the hub. It is the cluster of the first row with the
// hub's mark. The nodes of managed clusters have that mark too, so the order of rows decides.
func (t *Table) hub(pseudoNodeFirst bool) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var first *entry
	for _, e := range t.rows {
		pseudo := strings.HasPrefix(e.UID, ClusterUID(""))
		if e.hub && pseudo == pseudoNodeFirst && (first == nil || e.order < first.order) {
			first = e
		}
	}
	if first == nil {
		return ""
	}
	return first.Cluster
}

// Count returns the number of matching rows.
func (v View) Count(q Query) (int, error) {
	v.table.mu.RLock()
	defer v.table.mu.RUnlock()
	found, err := v.find(q)
	return len(found), err
}

// Found contains the rows of an answer, in order.
type Found struct{ rows []*entry }

// Find returns the matching rows, within the limit, in the order in which they were added.
func (v View) Find(q Query) (Found, error) {
	v.table.mu.RLock()
	defer v.table.mu.RUnlock()
	rows, err := v.find(q)
	if err != nil {
		return Found{}, err
	}
	slices.SortFunc(rows, func(a, b *entry) int { return a.order - b.order })
	if limit := q.limit(); limit >= 0 && limit < len(rows) {
		rows = rows[:limit]
	}
	return Found{rows: rows}, nil
}

// Empty reports whether no row was found.
func (f Found) Empty() bool { return len(f.rows) == 0 }

// Items returns the rows in search's form.
func (f Found) Items() []Item {
	items := make([]Item, len(f.rows))
	for i, e := range f.rows {
		items[i] = e.item
	}
	return items
}

// Cut keeps a share of the rows, as if the database's answer were incomplete.
func (f Found) Cut(share float64) Found {
	return Found{rows: f.rows[:int(float64(len(f.rows))*share)]}
}

// find returns the matching rows, in no order.
func (v View) find(q Query) ([]*entry, error) {
	matches, err := q.matcher()
	if err != nil {
		return nil, err
	}
	var found []*entry
	for _, e := range v.table.candidates(q) {
		if v.sees(e) && matches(e) {
			found = append(found, e)
		}
	}
	return found, nil
}

// candidates returns the rows of the kind in the query, or all rows.
func (t *Table) candidates(q Query) map[string]*entry {
	for _, filter := range q.Filters {
		if len(filter.Values) != 1 || filter.Values[0] == nil {
			continue
		}
		switch value := *filter.Values[0]; filter.Property {
		case keyKind:
			return t.kinds[keyKind+"="+strings.ToLower(value)]
		case keyKindPlural:
			return t.kinds[keyKindPlural+"="+value]
		}
	}
	return t.rows
}

// Complete returns the distinct values of a property in the matching rows, sorted. A limit of 0 means
// 1000, and -1 for no limit.
func (v View) Complete(property string, q Query, limit int) ([]string, error) {
	v.table.mu.RLock()
	defer v.table.mu.RUnlock()
	rows, err := v.find(q)
	if err != nil {
		return nil, err
	}
	distinct := map[string]bool{}
	for _, e := range rows {
		for _, value := range e.values(property) {
			distinct[value] = true
		}
	}
	values := slices.Sorted(maps.Keys(distinct))
	if most := (Query{Limit: &limit}).limit(); most >= 0 && most < len(values) {
		values = values[:most]
	}
	return values, nil
}
