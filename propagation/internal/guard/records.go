// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
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
	// Pending of Deliveries would have been withdrawn within the window, and Limit was
	// the most.
	Pending    int `json:"pending"`
	Deliveries int `json:"deliveries"`
	Limit      int `json:"limit"`
	// Hub: those are the figures of the hub, whose limit the group would not have kept
	// together with others.
	Hub bool `json:"hub,omitempty"`
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

// Encode returns the records as they are stored, in limit bytes at most: none is left out,
// since that would let too much be withdrawn after a restart.
func (r Records) Encode(limit int) (string, error) {
	text, err := json.Marshal(r)
	if err == nil && len(text) > limit {
		err = fmt.Errorf("the records of %d groups take %d bytes, of %d", len(r), len(text), limit)
	}
	return string(text), err
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
