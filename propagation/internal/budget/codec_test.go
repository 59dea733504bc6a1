// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

var sameCount = cmp.AllowUnexported(count{})

func TestRecords_survive(t *testing.T) {
	r := laneRecords{
		tenant(set):                            {Withdrawn: []count{{at: start, n: 3, of: 12}}, Held: &holding{Since: start, Pending: 5, Deliveries: 6, Limit: 2}},
		admin(decide.Group{Namespace: "team"}): {Withdrawn: []count{{at: start, n: 1, of: 2}, {at: start.Add(time.Minute), n: 2, of: 1}}},
		tenant(hub):                            {Withdrawn: []count{{at: start, n: 3, of: 50}}, Held: &holding{Since: start, Pending: 9}, Together: []decide.Group{other, set}},
		{Kind: decide.ClusterRevoked, Group: decide.Group{Namespace: "cluster"}}: {Held: &holding{Since: start}},
		tenant(decide.Group{Namespace: "team", Set: "a/b"}):                      {Withdrawn: []count{{at: start, n: 1, of: 1}}},
	}
	text, err := encodeRecords(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeRecords(text)
	if diff := cmp.Diff(r, got, sameCount); err != nil || diff != "" {
		t.Errorf("%s became %v, %v: %s", text, got, err, diff)
	}
	for _, bad := range []string{"{", `{"nolane":{}}`, `{"uncounted/a/b":{}}`, `{"tenant/a":{}}`, "[]"} {
		if _, err := decodeRecords(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if got, err := decodeRecords(`{"tenant//":{"together":["a/b"]}}`); err != nil || len(got[tenant(hub)].Together) > 0 {
		t.Errorf("without a hold lanes are held together: %v, %v", got, err)
	}
}

// A hold of the whole hub stores about 20 bytes for each group in it.
func TestRecords_fit(t *testing.T) {
	all := laneRecord{Held: &holding{Since: start}}
	for i := range 5000 {
		all.Together = append(all.Together, decide.Group{Namespace: fmt.Sprint("team-", i), Set: "guestbook"})
	}
	if text, err := encodeRecords(laneRecords{tenant(hub): all}); err != nil || len(text) > 5000*25 {
		t.Errorf("it takes %d bytes, %v", len(text), err)
	}
}

// In the former format a group had one limit for all deletions. Its records count for both lanes.
func TestRecords_readTheFormerFormat(t *testing.T) {
	got, err := decodeFormerRecords(`{
		"/":{"withdrawn":[{"at":"2026-11-21T12:00:00Z","n":7}]},
		"team/guestbook":{"withdrawn":[{"at":"2026-11-21T12:00:00Z","n":3}],"held":{"since":"2026-11-21T12:00:00Z","pending":5,"deliveries":6,"limit":2}},
		"team/other":{"held":{"since":"2026-11-21T12:00:00Z","pending":60,"deliveries":100,"limit":50,"hub":true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	went, held, all := []count{{at: start, n: 3}}, &holding{Since: start, Pending: 5, Deliveries: 6, Limit: 2}, &holding{Since: start, Pending: 60, Deliveries: 100, Limit: 50}
	hubs := laneRecord{Withdrawn: []count{{at: start, n: 7}}, Held: all, Together: []decide.Group{other}}
	want := laneRecords{
		tenant(set): {Withdrawn: went, Held: held}, admin(set): {Withdrawn: went, Held: held}, tenant(hub): hubs, admin(hub): hubs,
	}
	if diff := cmp.Diff(want, got, sameCount); diff != "" {
		t.Error(diff)
	}
	if got, err := decodeFormerRecords(""); err != nil || len(got) > 0 {
		t.Errorf("nothing became %v, %v", got, err)
	}
	if _, err := decodeFormerRecords("{"); err == nil {
		t.Error("what is no JSON was read")
	}
}

func TestNotes_survive(t *testing.T) {
	cluster := decide.Lane{Kind: decide.ClusterRevoked, Group: decide.Group{Namespace: "cluster"}}
	unproven := decide.Lane{Kind: decide.Unproven, Group: other}
	at := func(d time.Duration) map[decide.Why]time.Time {
		return map[decide.Why]time.Time{decide.NotBound: start.Add(d), decide.ProjectNotAllowed: start.Add(2 * d)}
	}
	uid := func(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", n)) }
	notes := workNotes{
		uid(1):           {Known: true, Group: set, Allowed: true, Lane: tenant(set)},
		uid(2):           {Known: true, Group: set, Since: at(time.Hour)},
		uid(3):           {Known: true, Group: set, Since: at(time.Minute), Allowed: true, Lane: admin(set)},
		uid(4):           {Group: other, Allowed: true, Lane: unproven},
		uid(5):           {Known: true, Group: decide.Group{Namespace: "team"}, Allowed: true, Lane: cluster},
		uid(6):           {Known: true, Group: set, Allowed: true, Lane: tenant(other)},
		"no-uid-of-ours": {Known: true, Group: set},
		strangeCase:      {Group: set},
	}
	stored, err := encodeNotes(notes)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeNotes(stored)
	want := workNotes{}
	maps.Copy(want, notes)
	delete(want, "no-uid-of-ours")
	delete(want, strangeCase)
	nowhere := notes[uid(5)]
	nowhere.Lane.Group = decide.Group{} // not stored: the namespace of the ManifestWork is the cluster
	elsewhere := notes[uid(6)]
	elsewhere.Allowed, elsewhere.Lane = false, decide.Lane{} // the lane is not its owner's, so the budget decides again
	want[uid(5)], want[uid(6)] = nowhere, elsewhere
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	for _, bad := range [][]byte{stored[:len(stored)-1], {9}, gobOf(t, storedGroup{UIDs: make([]byte, 20), States: make([]byte, 4)}), gobOf(t, storedGroup{UIDs: make([]byte, 16), States: []byte{1, 1}})} {
		if got, err := decodeNotes(bad); err == nil {
			t.Errorf("%x was read: %v", bad, got)
		}
	}
	if got, err := decodeNotes(nil); err != nil || len(got) > 0 {
		t.Errorf("nothing became %v, %v", got, err)
	}
}

// strangeCase has the form of a UID, with upper-case letters that no API server writes.
const strangeCase = types.UID("ABCDEF00-0000-4000-8000-000000000000")

func gobOf(t *testing.T, groups ...storedGroup) []byte {
	t.Helper()
	out := &bytes.Buffer{}
	if err := gob.NewEncoder(out).Encode(groups); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
