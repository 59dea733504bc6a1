// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

func set(names string) map[string]bool {
	s := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		s[name] = true
	}
	return s
}

func TestDecide(t *testing.T) {
	now := time.Unix(1_767_000_000, 0)
	ten := "0 1 2 3 4 5 6 7 8 9"
	cases := map[string]struct {
		reason, held, selected string
		since                  map[string]time.Time
		confirmed, percent     int
		leaving, leave         string
		heldBack               bool
		look                   time.Duration
	}{
		"none":      {reason: "nobody has to leave", held: "a b", selected: "a b c"},
		"first":     {reason: "absence has to last", held: "a b", selected: "a", leaving: "b", look: time.Minute},
		"lasting":   {reason: "and then counts", held: "a b", selected: "a", since: map[string]time.Time{"b": now.Add(-time.Minute)}, leaving: "b", leave: "b"},
		"one":       {reason: "one may always leave", held: "a", since: map[string]time.Time{"a": now.Add(-time.Hour)}, leaving: "a", leave: "a"},
		"two":       {reason: "of ten two may", held: ten, selected: "0 1 2 3 4 5 6 7", since: map[string]time.Time{"8": now.Add(-time.Hour), "9": now.Add(-30 * time.Second)}, leaving: "8 9", leave: "8", look: 30 * time.Second},
		"three":     {reason: "three may not, and then none does, however long it lasts", held: ten, selected: "0 1 2 3 4 5 6", since: map[string]time.Time{"7": now.Add(-time.Hour)}, leaving: "7 8 9", heldBack: true},
		"confirmed": {reason: "unless somebody says so", held: ten, selected: "0 1 2 3 4 5 6", since: map[string]time.Time{"7": now.Add(-time.Hour)}, confirmed: 3, leaving: "7 8 9", leave: "7", look: time.Minute},
		"fewer":     {reason: "for so many", held: ten, selected: "0 1 2 3 4 5 6", confirmed: 2, leaving: "7 8 9", heldBack: true},
		"no limit":  {reason: "100 percent is no limit", held: ten, percent: 100, leaving: ten, look: time.Minute},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := Departures{Held: set(c.held), Selected: set(c.selected), Since: c.since, Grace: time.Minute, Limit: limit.Limit{Percent: 20, Least: 1}, Confirmed: c.confirmed}
			if c.percent > 0 {
				d.Limit.Percent = limit.Percent(c.percent)
			}
			v := d.Decide(now)
			if strings.Join(v.Leaving, " ") != c.leaving || strings.Join(v.Go, " ") != c.leave || v.HeldBack != c.heldBack || v.After != c.look {
				t.Errorf("%s: %+v", c.reason, v)
			}
		})
	}
}
