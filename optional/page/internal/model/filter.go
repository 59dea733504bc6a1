// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"
	"strings"
)

// Filter returns the items that a query selects.
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

// filters reports whether the query excludes anything.
func (q Query) filters() bool {
	return q.Health != "" || q.Sync != "" || q.Phase != "" || q.Text != "" || q.Error != "" || q.Revision != ""
}

// These are the filters of a query, as bits.
const (
	missHealth = 1 << iota
	missSync
	missPhase
	missError
	missOther
)

// miss returns the filters that an item does not pass.
func (q Query) miss(i Item) (bits int) {
	if q.Health != "" && i.Row.Health != q.Health {
		bits |= missHealth
	}
	if q.Sync != "" && i.Row.Sync != q.Sync {
		bits |= missSync
	}
	if q.Phase != "" && Operation(i.Row) != q.Phase {
		bits |= missPhase
	}
	if q.Error != "" && !slices.ContainsFunc(i.Set.Causes(i.Row), func(s Cause) bool { return s.Hash() == q.Error }) {
		bits |= missError
	}
	if q.Revision != "" && i.Row.Revision != q.Revision ||
		q.Text != "" && !contains(i, strings.ToLower(q.Text)) {
		bits |= missOther
	}
	return bits
}

// Facet is a value by which a list can be filtered.
type Facet struct {
	Value string
	Count int
}

// Facets are the values of each filter. Each has the number of items with this value that pass the
// other filters. Values without items are left out.
type Facets struct {
	Health, Sync, Phase []Facet
	// Errors are sorted by frequency.
	Errors []ErrorFacet
}

// ErrorFacet is an error by which a list can be filtered.
type ErrorFacet struct {
	Cause
	Count int
}

// FacetsOf counts the facets of a list for a query.
func FacetsOf(items []Item, q Query) Facets {
	var health, sync, phase = make([]int, len(Healths)), make([]int, len(Syncs)), make([]int, len(Phases))
	counts := map[Cause]int{}
	for _, i := range items {
		miss := q.miss(i)
		if miss&^missHealth == 0 {
			health[position(Healths, i.Row.Health)]++
		}
		if miss&^missSync == 0 {
			sync[position(Syncs, i.Row.Sync)]++
		}
		if miss&^missPhase == 0 {
			phase[position(Phases, Operation(i.Row))]++
		}
		if miss&^missError == 0 {
			for _, s := range i.Set.Causes(i.Row) {
				counts[s]++
			}
		}
	}
	return Facets{facets(Healths, health, q.Health), facets(Syncs, sync, q.Sync), facets(Phases, phase, q.Phase), errorFacets(counts)}
}

func errorFacets(counts map[Cause]int) []ErrorFacet {
	all := make([]ErrorFacet, 0, len(counts))
	for s, n := range counts {
		all = append(all, ErrorFacet{s, n})
	}
	slices.SortFunc(all, func(a, b ErrorFacet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Hash(), b.Hash()))
	})
	return all
}

func facets(values []string, counts []int, selected string) []Facet {
	var all []Facet
	for i, n := range counts {
		if n > 0 || values[i] == selected {
			all = append(all, Facet{values[i], n})
		}
	}
	return all
}
