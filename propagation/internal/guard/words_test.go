// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestWords_observe(t *testing.T) {
	approved := map[string]string{"withdrawals": "approve until 2026-11-21T13:00:00Z", "other": "x"}
	for _, c := range []struct {
		reason  string
		before  Words
		uid     string
		now     map[string]string
		want    Words
		changed bool
	}{
		{reason: "nothing is said", before: Words{}, uid: "a", want: Words{}},
		{reason: "what is asked for is kept", before: Words{}, uid: "a", now: approved, changed: true,
			want: Words{set: {UID: "a", Annotations: map[string]string{"withdrawals": approved["withdrawals"]}}}},
		{reason: "the same again", before: Words{set: {UID: "a", Annotations: map[string]string{"pause": "delivery"}}}, uid: "a", now: map[string]string{"pause": "delivery"},
			want: Words{set: {UID: "a", Annotations: map[string]string{"pause": "delivery"}}}},
		{reason: "another of its name says nothing", before: Words{set: {UID: "a", Annotations: map[string]string{"pause": "delivery"}}}, uid: "b", want: Words{}, changed: true},
		{reason: "another says the same", before: Words{set: {UID: "a", Annotations: map[string]string{"pause": "delivery"}}}, uid: "b", now: map[string]string{"pause": "delivery"}, changed: true,
			want: Words{set: {UID: "b", Annotations: map[string]string{"pause": "delivery"}}}},
	} {
		changed := c.before.Observe(set, types.UID(c.uid), c.now, "withdrawals", "pause")
		if diff := cmp.Diff(c.want, c.before); diff != "" || changed != c.changed {
			t.Errorf("%s: changed is %t: %s", c.reason, changed, diff)
		}
	}
}

// Those of an ApplicationSet that is there stay, whatever they are; those of one that is
// gone as long as they have a time, or nothing, and something is left.
func TestWords_prune(t *testing.T) {
	said := func(values ...string) SetWords {
		w := SetWords{UID: "a", Annotations: map[string]string{}}
		for i, value := range values {
			w.Annotations[fmt.Sprint(i)] = value
		}
		return w
	}
	past, ahead := "hold until "+start.Add(-time.Second).Format(time.RFC3339), "hold until "+start.Add(time.Second).Format(time.RFC3339)
	w := Words{
		{"there", "past"}: said(past), {"gone", "past"}: said(past, past), {"gone", "ahead"}: said(past, ahead),
		{"gone", "ever"}: said("delivery"), {"gone", "empty"}: said("delivery"), {"gone", "wrong"}: said("hold until tomorrow"),
	}
	w.Prune(func(g Group) bool { return g.Namespace == "gone" }, func(g Group) bool { return g.Set == "empty" }, start)
	want := Words{
		{"there", "past"}: said(past), {"gone", "ahead"}: said(past, ahead), {"gone", "ever"}: said("delivery"), {"gone", "wrong"}: said("hold until tomorrow"),
	}
	if diff := cmp.Diff(want, w); diff != "" {
		t.Error(diff)
	}
}

// However many a tenant writes, those of other namespaces are stored.
func TestWords_fit(t *testing.T) {
	w := Words{{"victim", "guestbook"}: {UID: "u", Annotations: map[string]string{"pause": "delivery"}}}
	for i := range 2000 {
		w[Group{"greedy", fmt.Sprintf("%04d%s", i, strings.Repeat("s", 200))}] = SetWords{UID: "u", Annotations: map[string]string{"pause": "delivery"}}
	}
	text, leftOut, err := w.Encode(10_000)
	if err != nil || len(text) > 10_000 || leftOut < 1000 {
		t.Fatalf("%d bytes, %d left out, %v", len(text), leftOut, err)
	}
	got, err := DecodeWords(text)
	if _, kept := got[Group{"victim", "guestbook"}]; err != nil || !kept || len(got)+leftOut != len(w) {
		t.Errorf("%d are kept, the other tenant's: %t, %v", len(got), kept, err)
	}
	few := Words{set: w[Group{"victim", "guestbook"}]}
	text, leftOut, err = few.Encode(10_000)
	again, decodeErr := DecodeWords(text)
	if diff := cmp.Diff(few, again); diff != "" || leftOut > 0 || err != nil || decodeErr != nil {
		t.Errorf("%d left out, %v, %v: %s", leftOut, err, decodeErr, diff)
	}
	if _, err := DecodeWords("{"); err == nil {
		t.Error("what is no JSON was read")
	}
}
