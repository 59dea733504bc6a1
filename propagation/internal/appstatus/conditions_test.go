// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appstatus

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 999, time.UTC)

func TestConditions(t *testing.T) {
	cases := map[string]struct {
		reason string
		status string
		want   []string // types
		err    bool
	}{
		"none":        {reason: "a new Application has no status", status: ``},
		"null":        {reason: "null is how some clients write nothing", status: `null`},
		"noList":      {reason: "a status need not have conditions", status: `{"sync":{"status":"Synced"}}`},
		"nullList":    {reason: "null is no condition", status: `{"conditions":null}`},
		"order":       {reason: "conditions keep their order", status: `{"conditions":[{"type":"B","message":"b"},{"type":"A","message":"a"}]}`, want: []string{"B", "A"}},
		"string":      {reason: "a status that is no object is named", status: `"broken"`, err: true},
		"cut":         {reason: "half a document is named", status: `{"conditions":[`, err: true},
		"listIsMap":   {reason: "conditions that are no list are named", status: `{"conditions":{}}`, err: true},
		"entryString": {reason: "an entry that is no object is named", status: `{"conditions":["x"]}`, err: true},
		"entryNull":   {reason: "null is no condition", status: `{"conditions":[null]}`, err: true},
		"badTime":     {reason: "a time that is none is named", status: `{"conditions":[{"type":"A","message":"","lastTransitionTime":"noon"}]}`, err: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Conditions(json.RawMessage(c.status))
			if (err != nil) != c.err || (c.err && !errors.Is(err, ErrMalformed)) {
				t.Fatalf("%s: error %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, types(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	const earlier = `"lastTransitionTime":"2026-11-20T08:00:00Z"`
	ours := func(s string) bool { return strings.HasPrefix(s, "Ours") }
	cases := map[string]struct {
		reason  string
		current string
		want    []Condition
		merged  string
		changed bool
	}{
		"nothing": {reason: "nothing stays nothing", current: `null`, merged: `null`},
		"first": {
			reason: "a new condition gets the time", current: `null`, want: []Condition{{Type: "OursError", Message: "m"}},
			merged: `[{"type":"OursError","message":"m","lastTransitionTime":"2026-11-20T12:00:00Z"}]`, changed: true,
		},
		"same": {
			reason:  "what is wanted and there is left as it is, its time included",
			current: `[{"type":"OursError","message":"m",` + earlier + `}]`, want: []Condition{{Type: "OursError", Message: "m"}},
			merged: `[{"type":"OursError","message":"m",` + earlier + `}]`,
		},
		"noTime": {
			reason: "a condition without a time is no reason to write", current: `[{"type":"OursError","message":"m"}]`,
			want: []Condition{{Type: "OursError", Message: "m"}}, merged: `[{"type":"OursError","message":"m"}]`,
		},
		"message": {
			reason:  "a new message is a transition and keeps its place",
			current: `[{"type":"OursError","message":"old",` + earlier + `},{"type":"X","message":"x"}]`,
			want:    []Condition{{Type: "OursError", Message: "new"}}, changed: true,
			merged: `[{"type":"OursError","message":"new","lastTransitionTime":"2026-11-20T12:00:00Z"},{"type":"X","message":"x"}]`,
		},
		"others": {
			reason:  "conditions of others keep order, times, doubles and unknown fields",
			current: `[{"type":"X","message":"1","future":{"n":1.50}},{"type":"OursError","message":"gone"},{"type":"X","message":"2"}]`,
			merged:  `[{"type":"X","message":"1","future":{"n":1.50}},{"type":"X","message":"2"}]`, changed: true,
		},
		"double": {
			reason:  "an owned type that is there twice is there once afterwards",
			current: `[{"type":"OursError","message":"m"},{"type":"OursError","message":"m"}]`,
			want:    []Condition{{Type: "OursError", Message: "m"}}, merged: `[{"type":"OursError","message":"m"}]`, changed: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			current, err := Conditions(json.RawMessage(`{"conditions":` + c.current + `}`))
			if err != nil {
				t.Fatal(err)
			}
			merged, changed := Merge(current, ours, c.want, noon)
			if changed != c.changed {
				t.Errorf("%s: changed is %t", c.reason, changed)
			}
			got, err := json.Marshal(merged)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.merged, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if again, changed := Merge(merged, ours, c.want, noon.Add(time.Hour)); changed || len(again) != len(merged) {
				t.Errorf("%s: a second merge changes something", c.reason)
			}
		})
	}
}

func types(conditions []Condition) (list []string) {
	for _, c := range conditions {
		list = append(list, c.Type)
	}
	return list
}

func BenchmarkMerge_unchanged(b *testing.B) {
	status := json.RawMessage(`{"health":{"status":"Healthy"},"conditions":[{"type":"SyncError","message":"m","lastTransitionTime":"2026-11-20T08:00:00Z"}]}`)
	want := []Condition{{Type: "SyncError", Message: "m"}}
	owned := func(t string) bool { return t == "SyncError" }
	b.ReportAllocs()
	for b.Loop() {
		current, err := Conditions(status)
		if err != nil {
			b.Fatal(err)
		}
		if _, changed := Merge(current, owned, want, noon); changed {
			b.Fatal("changed")
		}
	}
}
