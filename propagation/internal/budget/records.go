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

// holding is why and since when ends are held, with the figures of that moment: what is
// reported of a hold does not change while it lasts.
type holding struct {
	Since time.Time `json:"since"`
	// Pending of Deliveries would have been withdrawn within the window, and Limit was
	// the most.
	Pending    int `json:"pending"`
	Deliveries int `json:"deliveries"`
	Limit      int `json:"limit"`
}

// count are ends that began to count at a time, of so many deliveries.
type count struct {
	at    time.Time
	n, of int
}

// laneRecord is what is remembered of a lane, or of all lanes of a kind.
type laneRecord struct {
	Withdrawn []count
	Held      *holding
	// Together are, of all lanes of a kind, those that are held.
	Together []decide.Group
}

// laneRecords are what is remembered of all lanes. They are never changed: a [evaluation] has
// the next ones.
type laneRecords map[decide.Lane]laneRecord

// perWindow is into how many parts a window is divided: the ends of one are counted together.
// They count for one part longer than the window.
const perWindow = 20

// counts reports whether a count counts. One that seems to lie ahead was made by another
// clock: it counts, for as long as any.
func (c count) counts(window time.Duration, now time.Time) bool {
	return now.Sub(c.at) < window+window/perWindow && c.at.Sub(now) < window
}

// withdrawn returns how many ends count at a time.
func (r laneRecord) withdrawn(window time.Duration, now time.Time) (n int) {
	for _, c := range r.Withdrawn {
		if c.counts(window, now) {
			n += c.n
		}
	}
	return n
}

// deliveries returns the most deliveries that there were when one of them went.
func (r laneRecord) deliveries(window time.Duration, now time.Time) (n int) {
	for _, c := range r.Withdrawn {
		if c.counts(window, now) {
			n = max(n, c.of)
		}
	}
	return n
}

// adding returns the record with n more ends, of so many deliveries.
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

// current returns the records without what does not count any more.
func (r laneRecords) current(window time.Duration, now time.Time) laneRecords {
	next := maps.Clone(r)
	maps.DeleteFunc(next, func(_ decide.Lane, each laneRecord) bool { return each.Held == nil && each.withdrawn(window, now) == 0 })
	if next == nil {
		next = laneRecords{}
	}
	return next
}

// sortGroups sorts groups and takes each once.
func sortGroups(groups []decide.Group) []decide.Group {
	slices.SortFunc(groups, compareGroups)
	return slices.Compact(groups)
}

func compareGroups(a, b decide.Group) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Set, b.Set))
}
