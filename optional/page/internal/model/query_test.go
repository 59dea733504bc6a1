// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// asFacets returns the error facets as plain facets.
func asFacets(errors []ErrorFacet) (facets []Facet) {
	for _, e := range errors {
		facets = append(facets, Facet{e.Hash(), e.Count})
	}
	return facets
}

func TestFacetsOf_countsFilteredItems(t *testing.T) {
	dice := rand.New(rand.NewPCG(2, 2))
	items := Items(random(dice, 20, 10), "")
	for _, q := range []Query{{}, {Health: "Degraded"}, {Sync: "OutOfSync", Text: "set1"}, {Phase: "Failed", Health: "Missing"}, {Text: "nothing is called that"}, {Error: FacetsOf(items, Query{}).Errors[0].Hash(), Health: "Degraded"}} {
		f := FacetsOf(items, q)
		for _, test := range []struct {
			facets []Facet
			with   func(Query, string) Query
		}{
			{f.Health, func(q Query, v string) Query { q.Health = v; return q }},
			{f.Sync, func(q Query, v string) Query { q.Sync = v; return q }},
			{f.Phase, func(q Query, v string) Query { q.Phase = v; return q }},
			{asFacets(f.Errors), func(q Query, v string) Query { q.Error = v; return q }},
		} {
			for _, facet := range test.facets {
				if n := len(Filter(items, test.with(q, facet.Value))); n != facet.Count {
					t.Errorf("%+v: %s promises %d, the list has %d", q, facet.Value, facet.Count, n)
				}
			}
		}
	}
}

func TestParseQuery(t *testing.T) {
	for name, test := range map[string]struct{ why, address, want string }{
		"nothing":      {"all defaults", "", ""},
		"everything":   {"an address says what is shown", "health=Degraded&page=3&q=guest&size=50&sort=cluster&sync=OutOfSync", ""},
		"defaults":     {"what is the default is not said", "page=1&size=100&sort=worst", ""},
		"health":       {"an unknown value is named with what it takes", "health=Sick", "health=\"Sick\": want Degraded, Missing"},
		"page":         {"so is what is not a number", "page=two", "page=\"two\": want a number from 1 to"},
		"page zero":    {"pages begin at one", "page=0", "page=\"0\""},
		"size":         {"and a page too large to make", "size=10000", "size=\"10000\": want a number from 1 to 500"},
		"long":         {"and a text too long to look for", "q=" + strings.Repeat("x", 300), "q: want at most"},
		"two mistakes": {"all at once", "phase=x&sort=y", "sort=\"y\""},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := url.ParseQuery(test.address)
			if err != nil {
				t.Fatal(err)
			}
			q, err := ParseQuery(values)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v", test.why, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", test.why, err)
			}
			again, err := ParseQuery(q.Values())
			if err != nil || again != q {
				t.Errorf("%s: %+v became %+v, %v", test.why, q, again, err)
			}
		})
	}
}

func TestSlice(t *testing.T) {
	for _, test := range []struct {
		total, page, size int
		want              Page
	}{
		{0, 1, 100, Page{Number: 1, Last: 1}},
		{0, 7, 100, Page{Number: 1, Last: 1, Beyond: true}},
		{250, 1, 100, Page{Number: 1, Last: 3, From: 1, To: 100, Total: 250}},
		{250, 3, 100, Page{Number: 3, Last: 3, From: 201, To: 250, Total: 250}},
		{250, 9, 100, Page{Number: 3, Last: 3, From: 201, To: 250, Total: 250, Beyond: true}},
		{200, 2, 100, Page{Number: 2, Last: 2, From: 101, To: 200, Total: 200}},
	} {
		if got := Slice(test.total, Query{Page: test.page, Size: test.size}); got != test.want {
			t.Errorf("page %d of %d: %+v", test.page, test.total, got)
		}
	}
}
