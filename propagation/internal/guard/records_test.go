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
	before, _ := w.ledger.held(Lane{Group: set})
	w.doom(set, 20, true)
	p := w.ledger.Plan(w.hub(), w.now)
	concerned := w.ledger.Apply(p)
	after, held := w.ledger.held(Lane{Group: set})
	if !held || p.Changed || len(concerned) > 0 || after != before {
		t.Errorf("held %t, to be stored %t, %d concerned, %+v became %+v", held, p.Changed, len(concerned), before, after)
	}
	w.restart()
	again, _ := w.ledger.held(Lane{Group: set})
	if diff := cmp.Diff(before, again); diff != "" {
		t.Errorf("a restart says something else: %s", diff)
	}
}

func TestRecordsSurvive(t *testing.T) {
	r := Records{set: {Withdrawn: []count{{start, 3}}, Held: &Holding{Since: start, Pending: 5, Deliveries: 6, Limit: 2}}, {}: {Withdrawn: []count{{start, 3}}}}
	text, err := r.Encode(1 << 20)
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

// Nothing is left out of what has to count after a restart: records that do not fit are
// not stored, so that nothing goes.
func TestRecordsFit(t *testing.T) {
	r := Records{}
	for i := range 300 {
		r[Group{Namespace: "team-" + fmt.Sprint(i), Set: strings.Repeat("s", 200)}] = Record{Withdrawn: []count{{start, 1}}}
	}
	if _, err := r.Encode(20_000); err == nil || !strings.Contains(err.Error(), "300 groups") {
		t.Errorf("they were stored: %v", err)
	}
	if text, err := r.Encode(1 << 20); err != nil {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}
