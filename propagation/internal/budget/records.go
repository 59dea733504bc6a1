// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// holding has the cause and the start of a hold. Its figures do not change after the hold has
// begun, so that the report of the hold stays the same while it lasts.
type holding struct {
	Since time.Time `json:"since"`
	// Pending of Deliveries would have been removed within the window. Limit was the highest number
	// allowed.
	Pending    int `json:"pending"`
	Deliveries int `json:"deliveries"`
	Limit      int `json:"limit"`
}

// count is a number of removals that began to count at one time, and the deliveries at that time.
type count struct {
	at    time.Time
	n, of int
}

// laneRecord is the stored state of a lane, or of all lanes of a kind.
type laneRecord struct {
	Withdrawn []count
	Held      *holding
	// Together lists the groups that the limit of the hub holds. Only a record of all lanes has it.
	Together []decide.Group
}

// laneRecords is the stored state of all lanes. It is never changed: an [evaluation] returns a new
// one.
type laneRecords map[decide.Lane]laneRecord

// perWindow is the number of parts of a window. Removals of one part are counted together, so they
// count for up to one part longer than the window.
const perWindow = 20

// counts reports whether a count is in the window. A count in the future comes from a clock that
// differs. It counts as long as any other.
func (c count) counts(window time.Duration, now time.Time) bool {
	return now.Sub(c.at) < window+window/perWindow && c.at.Sub(now) < window
}

// withdrawn returns how many removals are in the window at a time.
func (r laneRecord) withdrawn(window time.Duration, now time.Time) (n int) {
	for _, c := range r.Withdrawn {
		if c.counts(window, now) {
			n += c.n
		}
	}
	return n
}

// deliveries returns the highest number of deliveries that the counts in the window recorded.
func (r laneRecord) deliveries(window time.Duration, now time.Time) (n int) {
	for _, c := range r.Withdrawn {
		if c.counts(window, now) {
			n = max(n, c.of)
		}
	}
	return n
}

// adding returns the record with n more removals of so many deliveries.
func (r laneRecord) adding(n, of int, window time.Duration, now time.Time) laneRecord {
	var kept []count
	for _, c := range r.Withdrawn {
		if c.counts(window, now) {
			kept = append(kept, c)
		}
	}
	if last := len(kept) - 1; last >= 0 && now.Sub(kept[last].at) < window/perWindow && !kept[last].at.After(now) {
		kept[last].n, kept[last].of = kept[last].n+n, max(kept[last].of, of)
	} else {
		kept = append(kept, count{at: now, n: n, of: of})
	}
	r.Withdrawn = kept
	return r
}

// current returns the records without counts that have left the window.
func (r laneRecords) current(window time.Duration, now time.Time) laneRecords {
	next := maps.Clone(r)
	maps.DeleteFunc(next, func(_ decide.Lane, each laneRecord) bool { return each.Held == nil && each.withdrawn(window, now) == 0 })
	if next == nil {
		next = laneRecords{}
	}
	return next
}

// sortGroups sorts groups and removes duplicates.
func sortGroups(groups []decide.Group) []decide.Group {
	slices.SortFunc(groups, compareGroups)
	return slices.Compact(groups)
}

func compareGroups(a, b decide.Group) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Set, b.Set))
}
