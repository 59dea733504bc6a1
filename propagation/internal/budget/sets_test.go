// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

func until(word string, d time.Duration) string {
	return word + " until " + start.Add(d).Format(time.RFC3339)
}

// Only a hold and an undo outlive their ApplicationSet. A new value of the annotation replaces them.
func TestSets_keepHoldsAndUndosOnly(t *testing.T) {
	hold := until("hold", time.Hour)
	for _, c := range []struct {
		reason        string
		before, value string
		want          string
		changed       bool
	}{
		{reason: "nothing is said", value: ""},
		{reason: "a hold", value: hold, want: hold, changed: true},
		{reason: "an undo", value: until("undo", time.Hour), want: until("undo", time.Hour), changed: true},
		{reason: "the same again", before: hold, value: hold, want: hold},
		{reason: "an approval", value: until("approve", time.Hour)},
		{reason: "in the place of a hold", before: hold, value: until("approve", time.Hour), changed: true},
		{reason: "a hold that has ended", before: hold, value: until("hold", -time.Hour), changed: true},
		{reason: "an invalid value has no end", before: hold, value: "hold", changed: true},
		{reason: "nor has one that is too far ahead", value: until("hold", 100*24*time.Hour)},
		{reason: "it is taken back", before: hold, changed: true},
	} {
		s := sets{}
		if c.before != "" {
			s[set] = c.before
		}
		if changed := s.observe(set, c.value, start); changed != c.changed || s[set] != c.want {
			t.Errorf("%s: changed is %t, %q", c.reason, changed, s[set])
		}
	}
}

func TestSets_endByThemselves(t *testing.T) {
	s := sets{set: until("hold", time.Hour), other: until("undo", time.Minute)}
	if r := s.override(set, start); r.Word != decide.Hold || !r.Gone || r.On != "ApplicationSet team/guestbook" || !r.Until.Equal(start.Add(time.Hour)) {
		t.Errorf("it says %+v", r)
	}
	if r := s.override(decide.Group{Namespace: "team", Set: "unheard"}, start); r != (decide.Override{}) {
		t.Errorf("one that said nothing says %+v", r)
	}
	later := start.Add(time.Minute)
	if r := s.override(other, later); r != (decide.Override{}) {
		t.Errorf("after its end it says %+v", r)
	}
	s.prune(later)
	if diff := cmp.Diff(sets{set: until("hold", time.Hour)}, s); diff != "" {
		t.Error(diff)
	}
}

// Many overrides in the namespace of one tenant do not displace the overrides of other namespaces.
func TestSets_fit(t *testing.T) {
	s := sets{{Namespace: "victim", Set: "guestbook"}: until("hold", time.Hour)}
	for i := range 2000 {
		s[decide.Group{Namespace: "greedy", Set: fmt.Sprintf("%04d%s", i, strings.Repeat("s", 200))}] = until("hold", time.Hour)
	}
	text, leftOut, err := s.encode(10_000)
	if err != nil || len(text) > 10_000 || leftOut < 1000 {
		t.Fatalf("%d bytes, %d left out, %v", len(text), leftOut, err)
	}
	got, err := decodeSets(text)
	if got[decide.Group{Namespace: "victim", Set: "guestbook"}] == "" || err != nil || len(got)+leftOut != len(s) {
		t.Errorf("%d are kept, %v", len(got), err)
	}
	few := sets{set: until("hold", time.Hour)}
	text, leftOut, err = few.encode(10_000)
	again, decodeErr := decodeSets(text)
	if diff := cmp.Diff(few, again); diff != "" || leftOut > 0 || err != nil || decodeErr != nil {
		t.Errorf("%d left out, %v, %v: %s", leftOut, err, decodeErr, diff)
	}
	if _, err := decodeSets("{"); err == nil {
		t.Error("what is no JSON was read")
	}
	former := `{"team/guestbook":{"uid":"a","annotations":{"apps.open-cluster-management.io/deletion-budget":"` + until("hold", time.Hour) + `","apps.open-cluster-management.io/paused":"delivery"}},"team/paused":{"uid":"b","annotations":{"apps.open-cluster-management.io/paused":"delivery"}}}`
	if got, err := decodeSets(former); err != nil || !cmp.Equal(few, got) {
		t.Errorf("the format of before became %v, %v", got, err)
	}
}
