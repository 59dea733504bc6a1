// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"strings"
	"testing"
)

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		reason  string
		limit   Limit
		members int
		want    int
	}{
		{"a share", Limit{Percent: 25, Least: 10}, 500, 125},
		{"is rounded up", Limit{Percent: 25, Least: 0}, 5, 2},
		{"a small group may lose the least", Limit{Percent: 25, Least: 10}, 12, 10},
		{"no share and no least: each is asked for", Limit{Percent: 0, Least: 0}, 500, 0},
		{"all of them", Limit{Percent: 100, Least: 0}, 500, 500},
	} {
		if got := c.limit.Of(c.members); got != c.want {
			t.Errorf("%s: %d of %d, want %d", c.reason, got, c.members, c.want)
		}
	}
}

func TestPercent(t *testing.T) {
	var p Percent
	for value, want := range map[string]Percent{"0%": 0, "25%": 25, "100%": 100} {
		if err := p.Set(value); err != nil || p != want || p.String() != value {
			t.Errorf("%q became %d, %s, %v", value, p, p.String(), err)
		}
	}
	for _, value := range []string{"", "25", "%", "101%", "-1%", "2.5%", "x"} {
		if err := p.Set(value); err == nil || !strings.Contains(err.Error(), "want a percentage from 0% to 100%") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
