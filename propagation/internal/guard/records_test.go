// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
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
	text, err := r.Encode()
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
