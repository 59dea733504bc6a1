// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// long is the group of an ApplicationSet with the longest possible name.
var long = decide.Group{Namespace: "team", Set: strings.Repeat("x", 253)}

func uidOf(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", n)) }

// planIn returns the plan of an existing Application in a group, with one work that is to be deleted.
func planIn(g decide.Group, n int) decide.Plan {
	f := decide.Fate{UID: uidOf(n), Own: true, Group: g, Act: decide.End, Due: true, Lane: tenant(g)}
	return decide.Plan{Key: types.NamespacedName{Namespace: g.Namespace, Name: fmt.Sprint("app-", n)}, Group: g, Deliveries: 1, Fates: []decide.Fate{f}}
}

// A tenant chooses the names of ApplicationSets, also in an ownerReferences. With a long name for each of its
// Applications, their deletions fit into the ConfigMap, so that no other deletion waits for them.
func TestBudget_hasRoomForLongNames(t *testing.T) {
	const most = 2000
	for namespace, fit := range map[string]int{"team": 5000, strings.Repeat("n", 63): 2400} {
		p := play(t, newHub(namespace))
		step := func() int {
			t.Helper()
			p.at = p.at.Add(time.Minute)
			if _, _, err := p.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			return len(p.hub.stored.Data[lanesKey]) + len(p.hub.stored.BinaryData[worksKey])
		}
		for i := range most {
			p.Set(planIn(decide.Group{Namespace: namespace, Set: fmt.Sprint(strings.Repeat("x", 245), i)}, i))
		}
		held := step()
		if n := len(p.ledger.records[tenant(hub)].Together); n != most {
			t.Errorf("%d are held together, want %d", n, most)
		}
		theirs := planIn(decide.Group{Namespace: "theirs", Set: "guestbook"}, most)
		theirs.Fates[0].Lane.Kind = decide.Admin
		p.Set(theirs)
		step()
		if v := p.Set(theirs); !v.Allowed[uidOf(most)] {
			t.Errorf("another deletion is %+v", v)
		}
		p.hub.names[types.NamespacedName{Name: "hub"}] = overriding(until("approve", time.Hour))
		if allowed := step(); max(held, allowed)/most*fit > maxBytes-maxSets {
			t.Errorf("%d held deletions take %d bytes, allowed ones %d: %d do not fit", most, held, allowed, fit)
		}
	}
}

// Reports have the whole name of an ApplicationSet, also after a restart and for a deleted Application.
func TestBudget_reportsLongNames(t *testing.T) {
	cluster := newHub("team")
	name, hold := types.NamespacedName{Namespace: long.Namespace, Name: long.Set}, overriding(until("hold", time.Hour))
	cluster.names[name] = hold
	p := play(t, cluster)
	p.Observe(setOf(name.Namespace, name.Name, hold))
	for i := range 11 {
		p.Set(planIn(long, i))
	}
	p.steps(10 * time.Second)
	check := func(reason string, p *played, events int) {
		t.Helper()
		if v := p.Set(planIn(long, 3)); !strings.Contains(v.Held, "11 of 11 deliveries of ApplicationSet team/"+long.Set+" would") {
			t.Errorf("%s: held is %q", reason, v.Held)
		}
		if shown := p.reporter.gauges.shown; len(shown) != 1 || !shown[series{long.Namespace, long.Set, heldByLimit}] {
			t.Errorf("%s: the metrics show %v", reason, shown)
		}
		if recorded := p.recorder.events; len(recorded) != events || events > 0 && !strings.Contains(recorded[0], "Kind:ApplicationSet,Namespace:team,Name:"+long.Set) {
			t.Errorf("%s: %d Events, want %d: %q", reason, len(recorded), events, recorded)
		}
	}
	check("held", p, 1)
	delete(cluster.names, name)
	again := play(t, cluster)
	again.at = p.at
	again.wait = time.Second
	again.steps(0)
	again.wait = 0
	for i := range 11 {
		plan := planIn(long, i)
		if i > 5 { // its Application is gone
			note := again.Note(uidOf(i))
			plan.Group, plan.GoneSince, plan.Fates[0].Own, plan.Fates[0].Lane = note.Group, start, false, tenant(note.Group)
		}
		again.Set(plan)
	}
	again.steps(10 * time.Second)
	check("after a restart", again, 0)
	if n := again.ledger.deliveries(long); n != 11 {
		t.Errorf("%d deliveries", n)
	}
	again.Observe(setOf("team", "another", hold)) // the ConfigMap is written
	again.steps(saveEvery)
	if left, err := again.Outlives(name); left == nil || err != nil {
		t.Errorf("its hold does not outlive it: %v", err)
	}
	if n := len(again.ledger.names); n != 1 {
		t.Errorf("%d names are kept", n)
	}
	for i := range 11 {
		again.Set(decide.Plan{Key: planIn(long, i).Key})
	}
	again.steps(0)
	if n := len(again.ledger.names); n != 0 {
		t.Errorf("%d names are kept without works", n)
	}
}

// An earlier version stores whole names. What it has counted, held and allowed remains. If the present version
// had written before it, both names count.
func TestBudget_readsWholeNames(t *testing.T) {
	cluster := newHub()
	for name, r := range map[string]laneRecord{
		"counted": {Withdrawn: []count{{at: start, n: 6, of: 12}}},
		"held":    {Held: &holding{Since: start, Pending: 11, Deliveries: 11, Limit: 10}},
	} {
		text, err := encodeRecords(laneRecords{
			tenant(long): r, tenant(short(long)): {Withdrawn: []count{{at: start, n: 4, of: 12}}},
			tenant(hub): {Held: &holding{Since: start}, Together: []decide.Group{long}},
		})
		if err != nil {
			t.Fatal(err)
		}
		notes, err := encodeNotes(workNotes{uidOf(1): {Known: true, Group: long, Allowed: true, Lane: tenant(long)}})
		if err != nil {
			t.Fatal(err)
		}
		cluster.stored = (&store{namespace: "hub"}).object()
		cluster.stored.Data, cluster.stored.BinaryData = map[string]string{lanesKey: text}, map[string][]byte{worksKey: notes}
		p := play(t, cluster)
		p.wait = time.Second
		p.steps(0)
		p.wait = 0
		if !slices.Equal(p.ledger.records[tenant(hub)].Together, []decide.Group{short(long)}) {
			t.Errorf("%s: held together are %v", name, p.ledger.records)
		}
		p.Set(planIn(long, 1))
		p.Set(planIn(long, 2))
		p.steps(10 * time.Second)
		if v := p.Set(planIn(long, 1)); !v.Allowed[uidOf(1)] {
			t.Errorf("%s: an allowed one is %+v", name, v)
		}
		if v := p.Set(planIn(long, 2)); v.Allowed[uidOf(2)] || !strings.Contains(v.Held, long.Set) {
			t.Errorf("%s: another one is %+v", name, v)
		}
	}
}

// An agent writes the group of an unproven ManifestWork, which may be no ASCII. A metric with invalid UTF-8
// would end the program.
func TestShort_isValidUTF8(t *testing.T) {
	for n := range 4 {
		got := short(decide.Group{Namespace: "team", Set: strings.Repeat("a", n) + strings.Repeat("é", 30)})
		if !utf8.ValidString(got.Set) || short(got) != got {
			t.Errorf("short is %q, and of that %q", got.Set, short(got).Set)
		}
		text, err := encodeRecords(laneRecords{tenant(got): {Held: &holding{Since: start}}})
		if err != nil {
			t.Fatal(err)
		}
		if read, err := decodeRecords(text); err != nil || read[tenant(got)].Held == nil {
			t.Errorf("the records of %q became %v, %v", got.Set, read, err)
		}
	}
}
