// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is said of a hold does not change while it lasts, or everything held would be
// written again for each that joins.
func TestHoldSaysTheSame(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.doom(set, 40, true)
	w.pass(time.Minute)
	before, _ := w.ledger.HeldGroup(set)
	w.doom(set, 20, true)
	p := w.ledger.Plan(Hub{Deliveries: w.deliveries}, w.now)
	concerned := w.ledger.Carry(p)
	after, held := w.ledger.HeldGroup(set)
	if !held || p.Changed || len(concerned) > 0 || after != before {
		t.Errorf("held %t, to be stored %t, %d concerned, %+v became %+v", held, p.Changed, len(concerned), before, after)
	}
	w.restart()
	again, _ := w.ledger.HeldGroup(set)
	if diff := cmp.Diff(before, again); diff != "" {
		t.Errorf("a restart says something else: %s", diff)
	}
}

func TestRecordsSurvive(t *testing.T) {
	r := Records{set: {Withdrawn: []count{{start, 3}}, Held: &Holding{Since: start, Doomed: 5, Deliveries: 6, Limit: 2}}, {}: {Withdrawn: []count{{start, 3}}}}
	text, _, err := r.Encode(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRecords(text)
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Errorf("%s became %v, %v: %s", text, got, err, diff)
	}
	for _, bad := range []string{"{", `{"nogroup":{}}`, "[]"} {
		if _, err := DecodeRecords(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// However many groups there are, the records fit: the hub's and what is held are kept, and
// of the rest what weighs most. What is left out is named.
func TestRecordsFit(t *testing.T) {
	const limit = 20_000
	r := Records{{}: {Withdrawn: []count{{start, 9}, {start.Add(time.Minute), 1}}}}
	for i := range 300 {
		g := Group{Namespace: "team-" + fmt.Sprint(i), Set: strings.Repeat("s", 200)}
		switch {
		case i < 20:
			r[g] = Record{Held: &Holding{Since: start, Doomed: i, Deliveries: 99, Limit: 3}}
		default:
			r[g] = Record{Withdrawn: []count{{start.Add(time.Minute), i}, {start, 1}}}
		}
	}
	text, leftOut, err := r.Encode(limit)
	if err != nil || len(text) > limit || len(leftOut) == 0 {
		t.Fatalf("%d bytes, %d left out, %v", len(text), len(leftOut), err)
	}
	got, err := DecodeRecords(text)
	if err != nil || len(got)+len(leftOut) != len(r) {
		t.Fatalf("%d kept and %d left out of %d, %v", len(got), len(leftOut), len(r), err)
	}
	if hub := got[Group{}]; len(hub.Withdrawn) != 1 || hub.Withdrawn[0] != (count{start.Add(time.Minute), 10}) {
		t.Errorf("the hub's became %+v", hub)
	}
	least := 1000
	for g, record := range got {
		if record.Held == nil && g != (Group{}) {
			least = min(least, record.Withdrawn[0].N)
		}
	}
	for _, g := range leftOut {
		if r[g].Held != nil {
			t.Errorf("%s is held and left out", g.Namespace)
		}
		if n := r[g].Withdrawn[0].N + 1; n > least {
			t.Errorf("%s with %d is left out, and one with %d is not", g.Namespace, n, least)
		}
	}
	again, _, _ := r.Encode(limit)
	if again != text {
		t.Error("the same records are written otherwise")
	}
	// With room for all of them nothing changes.
	text, leftOut, err = r.Encode(1 << 20)
	if whole, decodeErr := DecodeRecords(text); err != nil || decodeErr != nil || len(leftOut) > 0 || cmp.Diff(r, whole) != "" {
		t.Errorf("%d left out, %v, %v", len(leftOut), err, decodeErr)
	}
}
