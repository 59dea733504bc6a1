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
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func until(word string, d time.Duration) string {
	return word + " until " + start.Add(d).Format(time.RFC3339)
}

func overriding(value string) map[string]string {
	return map[string]string{contract.DeletionBudgetAnnotation: value}
}

func orphaning(policy string) map[string]string {
	return map[string]string{contract.DeletionPolicyAnnotation: policy}
}

// Only hold, undo and the policy orphan outlive their ApplicationSet. A new value of the annotation replaces
// them.
func TestSets_keepWhatOutlivesTheApplicationSet(t *testing.T) {
	hold := overriding(until("hold", time.Hour))
	both := map[string]string{contract.DeletionBudgetAnnotation: until("hold", time.Hour), contract.DeletionPolicyAnnotation: "orphan"}
	for _, c := range []struct {
		reason        string
		before, value map[string]string
		want          map[string]string
		changed       bool
	}{
		{reason: "no annotation"},
		{reason: "a hold", value: hold, want: hold, changed: true},
		{reason: "an undo", value: overriding(until("undo", time.Hour)), want: overriding(until("undo", time.Hour)), changed: true},
		{reason: "the same again", before: hold, value: hold, want: hold},
		{reason: "an approval", value: overriding(until("approve", time.Hour))},
		{reason: "in the place of a hold", before: hold, value: overriding(until("approve", time.Hour)), changed: true},
		{reason: "a hold that has ended", before: hold, value: overriding(until("hold", -time.Hour)), changed: true},
		{reason: "an invalid value has no end", before: hold, value: overriding("hold"), changed: true},
		{reason: "nor has one that is too far ahead", value: overriding(until("hold", 100*24*time.Hour))},
		{reason: "it is taken back", before: hold, changed: true},
		{reason: "an orphan", before: hold, value: orphaning(" orphan"), want: orphaning("orphan"), changed: true},
		{reason: "the same orphan", before: orphaning("orphan"), value: orphaning("orphan"), want: orphaning("orphan")},
		{reason: "a prune is the default", before: orphaning("orphan"), value: orphaning("prune"), changed: true},
		{reason: "an invalid policy", before: orphaning("orphan"), value: orphaning("orphan, abandon"), changed: true},
		{reason: "a hold and an orphan, and no pause", value: map[string]string{contract.DeletionBudgetAnnotation: until("hold", time.Hour), contract.DeletionPolicyAnnotation: "orphan", contract.PausedAnnotation: "delivery"}, want: both, changed: true},
		{reason: "the orphan stays", before: both, value: map[string]string{contract.DeletionBudgetAnnotation: "hold", contract.DeletionPolicyAnnotation: "orphan"}, want: orphaning("orphan"), changed: true},
	} {
		s := sets{}
		if c.before != nil {
			s[set] = storedSet{c.before}
		}
		changed := s.observe(set, c.value, start)
		if diff := cmp.Diff(c.want, s[set].Annotations); changed != c.changed || diff != "" || len(s) != min(1, len(c.want)) {
			t.Errorf("%s: changed is %t, %s", c.reason, changed, diff)
		}
	}
}

func everyGroup(decide.Group) bool { return true }

func TestSets_endByThemselves(t *testing.T) {
	hold, both := overriding(until("hold", time.Hour)), orphaning("orphan")
	both[contract.DeletionBudgetAnnotation] = until("undo", time.Minute)
	if w := left(set, hold, start); w == nil || !w.Gone || w.On != "ApplicationSet team/guestbook" ||
		w.Override != (decide.Override{Effect: decide.Hold, Gone: true, On: w.On, Until: start.Add(time.Hour)}) || w.Policy.Value != "" {
		t.Errorf("a hold: %+v", w)
	}
	if w := left(set, both, start); w == nil || w.Override.Effect != decide.Undo || w.Policy.Value != "orphan" {
		t.Errorf("an undo and an orphan: %+v", w)
	}
	later := start.Add(time.Minute)
	if w := left(set, both, later); w == nil || w.Override != (decide.Override{}) || w.Policy.Value != "orphan" {
		t.Errorf("the undo has expired: %+v", w)
	}
	for _, none := range []map[string]string{nil, overriding(until("undo", time.Minute)), overriding(until("approve", time.Hour)), overriding("hold"), orphaning("prune")} {
		if w := left(set, none, later); w != nil {
			t.Errorf("%v has left %+v", none, w)
		}
	}
	third := decide.Group{Namespace: "team", Set: "third"}
	s := sets{set: {hold}, other: {overriding(until("undo", time.Minute))}, third: {orphaning("orphan")}}
	if s.prune(later, everyGroup); len(s) != 2 || s[other].Annotations != nil {
		t.Errorf("after a minute there are %v", s)
	}
	if s.prune(later, func(g decide.Group) bool { return g == third }); len(s) != 1 || s[third].Annotations == nil {
		t.Errorf("without deliveries of others there are %v", s)
	}
}

// Many overrides in the namespace of one tenant do not displace the overrides of other namespaces.
func TestSets_fit(t *testing.T) {
	s := sets{{Namespace: "victim", Set: "guestbook"}: {overriding(until("hold", time.Hour))}}
	for i := range 2000 {
		s[decide.Group{Namespace: "greedy", Set: fmt.Sprintf("%04d%s", i, strings.Repeat("s", 200))}] = storedSet{overriding(until("hold", time.Hour))}
	}
	text, leftOut, err := s.encode(10_000)
	if err != nil || len(text) > 10_000 || leftOut < 1000 {
		t.Fatalf("%d bytes, %d left out, %v", len(text), leftOut, err)
	}
	got, err := decodeSets(text)
	if got[decide.Group{Namespace: "victim", Set: "guestbook"}].Annotations == nil || err != nil || len(got)+leftOut != len(s) {
		t.Errorf("%d are kept, %v", len(got), err)
	}
	few := sets{set: {overriding(until("hold", time.Hour))}, other: {orphaning("orphan")}}
	text, leftOut, err = few.encode(10_000)
	again, decodeErr := decodeSets(text)
	if diff := cmp.Diff(few, again); diff != "" || leftOut > 0 || err != nil || decodeErr != nil {
		t.Errorf("%d left out, %v, %v: %s", leftOut, err, decodeErr, diff)
	}
	if _, err := decodeSets("{"); err == nil {
		t.Error("what is no JSON was read")
	}
	delete(few, other)
	former := `{"team/guestbook":{"uid":"a","annotations":{"apps.open-cluster-management.io/deletion-budget":"` + until("hold", time.Hour) + `","apps.open-cluster-management.io/paused":"delivery"}},"team/paused":{"uid":"b","annotations":{"apps.open-cluster-management.io/paused":"delivery"}}}`
	got, err = decodeSets(former)
	got.prune(start, everyGroup)
	if want := left(set, few[set].Annotations, start); err != nil || len(got) != 1 || !cmp.Equal(want, left(set, got[set].Annotations, start)) {
		t.Errorf("the format of before became %v, %v", got, err)
	}
}

// The policies of many ApplicationSets do not displace an override of the same namespace.
func TestSets_storeOverridesFirst(t *testing.T) {
	last := decide.Group{Namespace: "team", Set: "zzz"}
	s := sets{last: {overriding(until("hold", time.Hour))}}
	for i := range 2 * mostOfNamespace {
		s[decide.Group{Namespace: "team", Set: fmt.Sprintf("%04d", i)}] = storedSet{orphaning("orphan")}
	}
	text, leftOut, err := s.encode(maxSets)
	got, decodeErr := decodeSets(text)
	if err != nil || decodeErr != nil || leftOut != mostOfNamespace+1 || got[last].Annotations == nil {
		t.Errorf("%d left out, %v, %v: the hold is %v", leftOut, err, decodeErr, got[last])
	}
}
