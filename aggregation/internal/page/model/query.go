// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Orders of a list of Applications.
const (
	SortWorst    = "worst"
	SortCluster  = "cluster"
	SortName     = "name"
	SortStarted  = "started"
	SortRevision = "revision"
)

// Sorts are all orders; the first is the default.
var Sorts = []string{SortWorst, SortCluster, SortName, SortStarted, SortRevision}

// Bounds of a query.
const (
	DefaultSize = 100
	MaxSize     = 500
	maxText     = 200
	maxPage     = 1_000_000
)

// Query is what an address asks for. The zero value of a filter asks for all.
type Query struct {
	Health, Sync, Phase, Text string
	// Error is the hash of what an error says.
	Error string
	// Revision is a whole one.
	Revision string
	Sort     string
	// Page begins at 1.
	Page, Size int
}

// ParseQuery reads a query, or says which parameter takes what.
func ParseQuery(v url.Values) (Query, error) {
	q := Query{
		Health: v.Get("health"), Sync: v.Get("sync"), Phase: v.Get("phase"), Text: strings.TrimSpace(v.Get("q")),
		Error: v.Get("error"), Revision: v.Get("revision"), Sort: v.Get("sort"),
	}
	if q.Sort == "" {
		q.Sort = SortWorst
	}
	var page, size error
	q.Page, page = number(v, "page", 1, maxPage)
	q.Size, size = number(v, "size", DefaultSize, MaxSize)
	return q, errors.Join(
		known("health", q.Health, Healths), known("sync", q.Sync, Syncs), known("phase", q.Phase, Phases), known("sort", q.Sort, Sorts),
		short("q", q.Text), short("error", q.Error), short("revision", q.Revision), page, size,
	)
}

func known(name, value string, values []string) error {
	if value == "" || slices.Contains(values, value) {
		return nil
	}
	return fmt.Errorf("%s=%s: want %s", name, quote(value), strings.Join(values, ", "))
}

func short(name, value string) error {
	if len(value) <= maxText {
		return nil
	}
	return fmt.Errorf("%s: want at most %d bytes", name, maxText)
}

func number(v url.Values, name string, otherwise, most int) (int, error) {
	text := v.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return otherwise, fmt.Errorf("%s=%s: want a number from 1 to %d", name, quote(text), most)
	}
	return n, nil
}

func quote(value string) string {
	if len(value) > 40 {
		value = value[:40] + "…"
	}
	return strconv.Quote(value)
}

// Values returns the query as an address says it, defaults left out.
func (q Query) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"health": q.Health, "sync": q.Sync, "phase": q.Phase, "q": q.Text, "error": q.Error, "revision": q.Revision} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Sort != "" && q.Sort != SortWorst {
		v.Set("sort", q.Sort)
	}
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if q.Size != 0 && q.Size != DefaultSize {
		v.Set("size", strconv.Itoa(q.Size))
	}
	return v
}

// filters reports whether the query leaves anything out.
func (q Query) filters() bool {
	return q.Health != "" || q.Sync != "" || q.Phase != "" || q.Text != "" || q.Error != "" || q.Revision != ""
}

// The filters of a query, as bits.
const (
	missHealth = 1 << iota
	missSync
	missPhase
	missError
	missOther
)

// miss returns the filters that an item does not pass.
func (q Query) miss(i Item) (bits int) {
	if q.Health != "" && Health(i.Row) != q.Health {
		bits |= missHealth
	}
	if q.Sync != "" && Sync(i.Row) != q.Sync {
		bits |= missSync
	}
	if q.Phase != "" && Phase(i.Row) != q.Phase {
		bits |= missPhase
	}
	if q.Error != "" && !slices.ContainsFunc(i.Set.Said(i.Row), func(s Said) bool { return s.Hash() == q.Error }) {
		bits |= missError
	}
	if q.Revision != "" && i.Row.SyncRevision != q.Revision ||
		q.Text != "" && !contains(i, strings.ToLower(q.Text)) {
		bits |= missOther
	}
	return bits
}

// Facet is one value that a list can be narrowed to.
type Facet struct {
	Value string
	Count int
}

// Facets are the values of each filter, with how many items there would be with it and
// the other filters. Values that nothing has are left out.
type Facets struct {
	Health, Sync, Phase []Facet
	// Errors are the most frequent first.
	Errors []ErrorFacet
}

// ErrorFacet is an error that a list can be narrowed to.
type ErrorFacet struct {
	Said
	Count int
}

// FacetsOf counts the items of a list that a query is put to.
func FacetsOf(items []Item, q Query) Facets {
	var health, sync, phase = make([]int, len(Healths)), make([]int, len(Syncs)), make([]int, len(Phases))
	said := map[Said]int{}
	for _, i := range items {
		miss := q.miss(i)
		if miss&^missHealth == 0 {
			health[position(Healths, Health(i.Row))]++
		}
		if miss&^missSync == 0 {
			sync[position(Syncs, Sync(i.Row))]++
		}
		if miss&^missPhase == 0 {
			phase[position(Phases, Phase(i.Row))]++
		}
		if miss&^missError == 0 {
			for _, s := range i.Set.Said(i.Row) {
				said[s]++
			}
		}
	}
	return Facets{facets(Healths, health, q.Health), facets(Syncs, sync, q.Sync), facets(Phases, phase, q.Phase), errorFacets(said)}
}

func errorFacets(counts map[Said]int) []ErrorFacet {
	all := make([]ErrorFacet, 0, len(counts))
	for s, n := range counts {
		all = append(all, ErrorFacet{s, n})
	}
	slices.SortFunc(all, func(a, b ErrorFacet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Hash(), b.Hash()))
	})
	return all
}

func facets(values []string, counts []int, asked string) []Facet {
	var all []Facet
	for i, n := range counts {
		if n > 0 || values[i] == asked {
			all = append(all, Facet{values[i], n})
		}
	}
	return all
}
