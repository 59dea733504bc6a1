// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"
	"testing"
)

func TestListedWork(t *testing.T) {
	work := func(name string) RenderedResource { return RenderedResource{Kind: "ManifestWork", Name: name} }
	for name, test := range map[string]struct {
		listed   []RenderedResource
		want     string
		rejected int
	}{
		"none":                  {},
		"another kind":          {listed: []RenderedResource{{Kind: "ConfigMap", Name: "a"}}},
		"one":                   {listed: []RenderedResource{{Kind: "ConfigMap", Name: "a"}, work("team.shop-0123abcd")}, want: "team.shop-0123abcd"},
		"the shortest":          {listed: []RenderedResource{work("shop-w1-0123abcd"), work("shop"), work("shop-w2-0123abcd")}, want: "shop"},
		"the first of the same": {listed: []RenderedResource{work("shop-w2"), work("shop-w1")}, want: "shop-w1"},
		"too long":              {listed: []RenderedResource{work(strings.Repeat("x", MaxName+1))}, rejected: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var rejected Rejected
			if got := ListedWork(test.listed, &rejected); got != test.want || rejected.TooLong != test.rejected {
				t.Errorf("got %q and %+v, want %q and %d", got, rejected, test.want, test.rejected)
			}
		})
	}
}
