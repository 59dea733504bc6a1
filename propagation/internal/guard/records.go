// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Group are deliveries that are judged together: of one ApplicationSet of a
// namespace, or, with Set empty, of the Applications there that have none. The zero
// Group is the whole hub.
type Group struct{ Namespace, Set string }

// String names the group for people.
func (g Group) String() string {
	switch {
	case g.Set != "":
		return "ApplicationSet " + g.Namespace + "/" + g.Set
	case g.Namespace != "":
		return "namespace " + g.Namespace + " without ApplicationSet"
	}
	return "the hub"
}

// MarshalText makes a group a key of a JSON object.
func (g Group) MarshalText() ([]byte, error) { return []byte(g.Namespace + "/" + g.Set), nil }

// UnmarshalText is its reverse.
func (g *Group) UnmarshalText(text []byte) error {
	i := slices.Index(text, '/')
	if i < 0 {
		return fmt.Errorf("%.100q is no group", text)
	}
	*g = Group{string(text[:i]), string(text[i+1:])}
	return nil
}

// Holding is why and since when the withdrawals of a group are held, with the figures
// of that moment: what is said of a hold does not change while it lasts.
type Holding struct {
	Since time.Time `json:"since"`
	// Doomed of Deliveries would have been withdrawn within the window, and Limit was
	// the most.
	Doomed     int `json:"doomed"`
	Deliveries int `json:"deliveries"`
	Limit      int `json:"limit"`
}

// count are withdrawals that began to count at a time.
type count struct {
	At time.Time `json:"at"`
	N  int       `json:"n"`
}

// Record is what is remembered of a group.
type Record struct {
	Withdrawn []count  `json:"withdrawn,omitempty"`
	Held      *Holding `json:"held,omitempty"`
}

// Records are what a ledger remembers across restarts. They are never changed: a
// [Plan] has the next ones.
type Records map[Group]Record

// slices of a window in which withdrawals are counted together; they count for one
// slice longer than the window.
const perWindow = 20

// withdrawn returns how many withdrawals count at a time.
func (r Record) withdrawn(window time.Duration, now time.Time) (n int) {
	for _, c := range r.Withdrawn {
		if c.counts(window, now) {
			n += c.N
		}
	}
	return n
}

// A count that seems to lie ahead was made by another clock: it counts, for as long
// as any.
func (c count) counts(window time.Duration, now time.Time) bool {
	return now.Sub(c.At) < window+window/perWindow && c.At.Sub(now) < window
}

// forgetful returns when the next of the counts ends, 0 without any.
func (r Record) forgetful(window time.Duration, now time.Time) (wait time.Duration) {
	for _, c := range r.Withdrawn {
		if c.counts(window, now) {
			wait = sooner(wait, c.At.Add(window+window/perWindow).Sub(now))
		}
	}
	return wait
}

// adding returns the record with n more withdrawals.
func (r Record) adding(n int, window time.Duration, now time.Time) Record {
	var kept []count
	for _, c := range r.Withdrawn {
		if c.counts(window, now) {
			kept = append(kept, c)
		}
	}
	if last := len(kept) - 1; last >= 0 && now.Sub(kept[last].At) < window/perWindow && !kept[last].At.After(now) {
		kept[last].N += n
	} else {
		kept = append(kept, count{At: now, N: n})
	}
	r.Withdrawn = kept
	return r
}

// current returns the records without what does not count any more.
func (r Records) current(window time.Duration, now time.Time) Records {
	next := maps.Clone(r)
	maps.DeleteFunc(next, func(_ Group, each Record) bool { return each.Held == nil && each.withdrawn(window, now) == 0 })
	if next == nil {
		next = Records{}
	}
	return next
}

// Encode returns the records as [DecodeRecords] takes them, in at most limit bytes: when
// there are too many, each group's withdrawals become one count, which is forgotten last of
// all of them, and then groups are left out: those of which the least is known, the hub and
// what is held last. It returns which.
func (r Records) Encode(limit int) (text string, leftOut []Group, err error) {
	whole, err := json.Marshal(r)
	if err != nil || len(whole) <= limit {
		return string(whole), nil, err
	}
	groups := slices.SortedFunc(maps.Keys(r), r.byWeight)
	kept, size := Records{}, len("{}")
	for i, g := range groups {
		one, err := json.Marshal(Records{g: r[g].joined()})
		if err != nil {
			return "", nil, err
		}
		if size += len(one); size > limit { // braces in the place of a comma: never too small
			leftOut = groups[i:]
			break
		}
		kept[g] = r[g].joined()
	}
	short, err := json.Marshal(kept)
	return string(short), leftOut, err
}

// byWeight sorts the hub first, then what is held, then by how much was withdrawn.
func (r Records) byWeight(a, b Group) int {
	weight := func(g Group) (class, n int) {
		if record := r[g]; record.Held != nil {
			class, n = 1, record.Held.Doomed
		} else {
			for _, c := range record.Withdrawn {
				n += c.N
			}
		}
		if g == (Group{}) {
			class = 2
		}
		return class, n
	}
	classA, a1 := weight(a)
	classB, b1 := weight(b)
	return cmp.Or(cmp.Compare(classB, classA), cmp.Compare(b1, a1), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Set, b.Set))
}

// joined returns the record with all withdrawals as one count, as of the last of them.
func (r Record) joined() Record {
	if len(r.Withdrawn) < 2 {
		return r
	}
	all := count{}
	for _, c := range r.Withdrawn {
		all.N += c.N
		if c.At.After(all.At) {
			all.At = c.At
		}
	}
	r.Withdrawn = []count{all}
	return r
}

// DecodeRecords reads stored records; "" is none.
func DecodeRecords(text string) (Records, error) {
	r := Records{}
	if text == "" {
		return r, nil
	}
	err := json.Unmarshal([]byte(text), &r)
	return r, err
}

// sooner returns the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
