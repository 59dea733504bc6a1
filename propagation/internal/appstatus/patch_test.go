// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appstatus

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatch(t *testing.T) {
	cases := map[string]struct {
		reason string
		status string
		want   Fields
		patch  string // of status, or empty for no patch
		err    bool
	}{
		"settled": {
			reason: "what it says already is not written, however it is spelled",
			status: `{"health": {"status":"He\u0061lthy"},"operationState":{"operation":{ },"retryCount":3}}`,
			want:   Fields{"health": Fields{"status": "Healthy", "message": nil}, "operationState": Fields{"operation": Fields{}}},
		},
		"first": {
			reason: "an empty status gets everything but removals",
			want:   Fields{"sync": Fields{"status": "Synced", "revision": nil}, "operationState": Fields{"operation": Fields{}, "phase": "Running"}, "conditions": nil},
			patch:  `{"operationState":{"operation":{},"phase":"Running"},"sync":{"status":"Synced"}}`,
		},
		"onlyRemovals": {reason: "removing from what is not there is nothing", want: Fields{"health": Fields{"message": nil}}},
		"one": {
			reason: "only the member that differs is named",
			status: `{"sync":{"status":"OutOfSync","revision":"a","comparedTo":{"destination":{}}},"history":[1]}`,
			want:   Fields{"sync": Fields{"status": "Synced", "revision": "a"}},
			patch:  `{"sync":{"status":"Synced"}}`,
		},
		"remove": {
			reason: "nil removes what is there", status: `{"operationState":{"phase":"Failed"},"health":{"message":"m","status":"Healthy"}}`,
			want: Fields{"operationState": nil, "health": Fields{"message": nil}}, patch: `{"health":{"message":null},"operationState":null}`,
		},
		"list": {
			reason: "lists are compared by meaning", status: `{"conditions":[{"message":"m", "type":"A"}]}`,
			want: Fields{"conditions": []Condition{{Type: "A", Message: "m"}}},
		},
		"listDiffers": {
			reason: "a list is replaced as a whole", status: `{"conditions":[{"message":"m","type":"A"}]}`,
			want: Fields{"conditions": []Condition{{Type: "A", Message: "n"}}}, patch: `{"conditions":[{"type":"A","message":"n"}]}`,
		},
		"nullMember":   {reason: "null is nothing", status: `{"health":null}`, want: Fields{"health": Fields{"status": "Healthy"}}, patch: `{"health":{"status":"Healthy"}}`},
		"otherType":    {reason: "a number is not the string that is wanted", status: `{"sync":{"status":1}}`, want: Fields{"sync": Fields{"status": "1"}}, patch: `{"sync":{"status":"1"}}`},
		"malformed":    {reason: "a status that is no object is not written over", status: `[]`, want: Fields{"sync": Fields{"status": "Synced"}}, err: true},
		"malformedOne": {reason: "nor is a member that should be an object", status: `{"sync":"x"}`, want: Fields{"sync": Fields{"status": "Synced"}}, err: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Patch("7", json.RawMessage(c.status), c.want)
			if (err != nil) != c.err || (c.err && !errors.Is(err, ErrMalformed)) {
				t.Fatalf("%s: error %v", c.reason, err)
			}
			want := ""
			if c.patch != "" {
				want = `{"metadata":{"resourceVersion":"7"},"status":` + c.patch + `}`
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func FuzzPatch(f *testing.F) {
	f.Add(`{"conditions":[{"type":"A","message":"m"}],"sync":{"status":"Synced"}}`)
	f.Add(`{"sync":null,"conditions":[]}`)
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, status string) {
		want := Fields{"sync": Fields{"status": "Synced", "revision": nil}, "conditions": nil}
		if patch, err := Patch("1", json.RawMessage(status), want); err == nil && patch != nil && !json.Valid(patch) {
			t.Errorf("no JSON: %s", patch)
		}
		if conditions, err := Conditions(json.RawMessage(status)); err == nil {
			if _, err := json.Marshal(conditions); err != nil {
				t.Error(err)
			}
		}
	})
}

func BenchmarkPatch_unchanged(b *testing.B) {
	status := json.RawMessage(`{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"53e28ff2"},"operationState":{"phase":"Succeeded","startedAt":"2026-11-20T08:00:00Z","operation":{}}}`)
	want := Fields{
		"health":         Fields{"status": "Healthy", "message": nil},
		"sync":           Fields{"status": "Synced", "revision": "53e28ff2"},
		"operationState": Fields{"phase": "Succeeded", "startedAt": "2026-11-20T08:00:00Z", "operation": Fields{}},
		"conditions":     nil,
	}
	b.ReportAllocs()
	for b.Loop() {
		if patch, err := Patch("1", status, want); err != nil || patch != nil {
			b.Fatal(err, string(patch))
		}
	}
}
