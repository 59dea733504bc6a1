// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

const (
	one  = types.UID("11111111-0000-4000-8000-000000000000")
	two  = types.UID("22222222-0000-4000-8000-000000000000")
	gone = types.UID("33333333-0000-4000-8000-000000000000")
)

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: name}
}

// planOf returns the plan of an existing Application in the group set.
func planOf(name string, fates ...decide.Fate) decide.Plan {
	return decide.Plan{Key: key(name), Group: set, Deliveries: min(1, len(fates)), Fates: fates}
}

// The clock of a lost permission continues after a restart. It counts for at most half a grace period,
// because the permission may have returned while no process was running.
func TestLedger_continuesItsClocksAfterARestart(t *testing.T) {
	for _, c := range []struct {
		reason       string
		before, want time.Duration // start of the clock, before now
	}{
		{"longer than half a grace ago", time.Hour, grace / 2},
		{"as long as a grace ago", grace, grace / 2},
		{"a minute ago", time.Minute, time.Minute},
		{"a clock that lies ahead is another's", -time.Minute, -time.Minute},
	} {
		l := newLedger(defaults)
		now := start.Add(24 * time.Hour)
		l.restore(laneRecords{}, workNotes{one: {Known: true, Group: set, Since: map[decide.Why]time.Time{decide.NotBound: now.Add(-c.before)}}}, now, grace)
		if got := l.note(one).Since[decide.NotBound]; !got.Equal(now.Add(-c.want)) {
			t.Errorf("%s: it runs since %s, want %s before", c.reason, now.Sub(got), c.want)
		}
		late := newLedger(defaults)
		late.set(planOf("app", decide.Fate{UID: one, Own: true, Lane: admin(set), Clocks: map[decide.Why]time.Time{decide.NotBound: now}}), now)
		late.restore(laneRecords{}, workNotes{one: {Known: true, Group: set, Since: map[decide.Why]time.Time{decide.NotBound: now.Add(-c.before)}}}, now, grace)
		if got, want := late.note(one).Since[decide.NotBound], now.Add(-max(c.want, 0)); !got.Equal(want) {
			t.Errorf("%s: read after a plan it runs since %s, want %s before", c.reason, now.Sub(got), c.want)
		}
		l.set(planOf("app", decide.Fate{UID: one, Own: true}), now)
		if note := l.note(one); len(note.Since) > 0 || !note.Known || note.Group != set {
			t.Errorf("%s: once the permission is back there is %+v", c.reason, note)
		}
	}
}

// The ledger stores the owner of a work while its Application exists. An owner that the work names later may
// come from its agent.
func TestLedger_storesTheOwnerOfAWork(t *testing.T) {
	l := newLedger(defaults)
	if note := l.note(one); !cmp.Equal(note, decide.Note{}) {
		t.Errorf("of a work that nobody has seen there is %+v", note)
	}
	l.set(planOf("app", decide.Fate{UID: one, Own: true}, decide.Fate{UID: two}), start)
	missing := decide.Plan{Key: key("app"), Group: set, Deliveries: 1, GoneSince: start, Fates: []decide.Fate{
		{UID: one, Why: decide.ApplicationGone, Act: decide.End, Due: true, Lane: tenant(set)},
		{UID: two, Why: decide.ApplicationGone, Act: decide.End, Due: true, Lane: decide.Lane{Kind: decide.Unproven, Group: other}},
	}}
	l.set(missing, start)
	if got := l.note(one); !got.Known || got.Group != set {
		t.Errorf("of its own work it has %+v", got)
	}
	if got := l.note(two); got.Known || got.Group != other {
		t.Errorf("of one that only names it it has %+v", got)
	}
	missing.Fates[0].Lane = decide.Lane{Kind: decide.ClusterRevoked, Group: decide.Group{Namespace: "cluster"}}
	l.set(missing, start)
	if got := l.note(one); !got.Known || got.Group != set {
		t.Errorf("of one that its cluster holds it has %+v", got)
	}
	all, essential := l.stored()
	if len(all) != 2 || len(essential) != 2 {
		t.Errorf("%d works are stored, %d of them essential", len(all), len(essential))
	}
	again := newLedger(defaults)
	again.restore(laneRecords{}, all, start, grace)
	if got := again.note(one); !got.Known || got.Group != set {
		t.Errorf("after a restart it has %+v of its own work", got)
	}
}

// A plan replaces the earlier plan of its Application. The ledger forgets works that the new plan does not
// name, and Applications without works.
func TestLedger_replacesAnEarlierPlan(t *testing.T) {
	l := newLedger(defaults)
	ends := decide.Fate{UID: one, Own: true, Act: decide.End, Due: true, Lane: tenant(set)}
	l.set(planOf("app", ends, decide.Fate{UID: two, Own: true, Clocks: map[decide.Why]time.Time{decide.NotBound: start}, Lane: admin(set)}), start)
	if n := l.deliveries(set); n != 1 || // one delivery, although two works name the Application
		len(l.state(false, nil, start).ends) != 2 || !l.news || !l.unsaved {
		t.Errorf("%d deliveries, ends %v, news %t", n, l.state(false, nil, start).ends, l.news)
	}
	l.news, l.unsaved = false, false
	l.set(planOf("app", ends, decide.Fate{UID: two, Own: true, Clocks: map[decide.Why]time.Time{decide.NotBound: start}, Lane: admin(set)}), start.Add(time.Minute))
	if l.news || l.unsaved {
		t.Error("the same plan again is news")
	}
	l.set(planOf("thief", decide.Fate{UID: two}), start) // the annotations of the work have changed
	l.set(planOf("app", ends), start)
	if note := l.note(two); !note.Known {
		t.Errorf("the work that names another has %+v", note)
	}
	l.set(planOf("app", decide.Fate{UID: one, Own: true, Act: decide.Leave}), start)
	if ends := l.state(false, nil, start).ends; len(ends) > 0 {
		t.Errorf("a terminating work is to end: %v", ends)
	}
	l.set(decide.Plan{Key: key("app"), Group: set}, start)
	l.set(decide.Plan{Key: key("thief"), Group: set, GoneSince: start}, start)
	if len(l.plans) > 0 || len(l.works) > 0 {
		t.Errorf("there are %v, %v", l.plans, l.works)
	}
}

// A managed cluster removes a label, so that the cache lacks a ManifestWork for some seconds. Its clock continues,
// and its removal is not cancelled.
func TestLedger_keepsMissingWorks(t *testing.T) {
	l := newLedger(defaults)
	l.records[tenant(set)] = laneRecord{Held: &holding{}}
	ends := decide.Fate{UID: one, Own: true, Act: decide.End, Due: true, Lane: tenant(set)}
	clock := decide.Fate{UID: two, Own: true, Clocks: map[decide.Why]time.Time{decide.NotBound: start}, Lane: admin(set)}
	l.set(planOf("app", ends, clock), start)
	for _, without := range []decide.Plan{planOf("app"), {Key: key("app"), Group: set, GoneSince: start}} {
		l.news, l.unsaved = false, false
		without.Missing = []types.UID{one, two, gone}
		l.set(without, start.Add(time.Second))
		if got := l.note(two).Since[decide.NotBound]; !got.Equal(start) {
			t.Errorf("its clock runs since %s, want %s", got, start)
		}
		if n := len(l.state(false, nil, start).ends); n != 2 || len(l.left) > 0 || l.news || l.unsaved {
			t.Errorf("%d removals count, %v were cancelled, news %t, unsaved %t", n, l.left, l.news, l.unsaved)
		}
	}
	l.set(planOf("app", clock), start.Add(time.Minute))
	if n := len(l.state(false, nil, start).ends); n != 1 || len(l.left) == 0 {
		t.Errorf("without the work %d removals count, %v were cancelled", n, l.left)
	}
}

// An allowed deletion stays allowed in its lane. The budget decides again if the lane changes, if the
// deletion is held or paused, or if it was not due meanwhile.
func TestLedger_keepsAllowedDeletions(t *testing.T) {
	ends := decide.Fate{UID: one, Own: true, Act: decide.End, Due: true, Lane: tenant(set)}
	change := func(do func(*decide.Fate)) decide.Fate {
		f := ends
		do(&f)
		return f
	}
	cluster := func(name string) decide.Fate {
		return change(func(f *decide.Fate) {
			f.Lane = decide.Lane{Kind: decide.ClusterRevoked, Group: decide.Group{Namespace: name}}
		})
	}
	for _, c := range []struct {
		reason         string
		before, during decide.Fate
		want           bool
	}{
		{"it is the same", ends, ends, true},
		{"it is for another reason in the same lane", ends, change(func(f *decide.Fate) { f.Why = decide.TurnedOff }), true},
		{"it is approved", ends, change(func(f *decide.Fate) {
			f.Override = decide.Override{Effect: decide.Approve, Until: start.Add(time.Hour)}
		}), true},
		{"its grace is not over any more", ends, change(func(f *decide.Fate) { f.Act, f.Due = decide.Keep, false }), false},
		{"it is in another lane", ends, change(func(f *decide.Fate) { f.Lane = admin(set) }), false},
		{"it is another group's", ends, change(func(f *decide.Fate) { f.Lane = tenant(other) }), false},
		{"it is held", ends, change(func(f *decide.Fate) { f.Override = decide.Override{Effect: decide.Hold, Until: start.Add(time.Hour)} }), false},
		{"it is paused", ends, change(func(f *decide.Fate) { f.Delayed.By = "Namespace team" }), false},
		{"it is none", ends, change(func(f *decide.Fate) { f.Act, f.Due, f.Lane = decide.Keep, false, decide.Lane{} }), false},
		{"it is its cluster's", cluster("c"), cluster("c"), true},
	} {
		for _, restart := range []bool{false, true} {
			l := newLedger(defaults)
			l.set(planOf("app", c.before), start)
			l.apply(evaluation{records: laneRecords{}, allow: []end{{uid: one, lane: c.before.Lane}}})
			if !l.note(one).Allowed {
				t.Fatalf("%s: it was not allowed", c.reason)
			}
			if restart {
				all, _ := l.stored()
				stored, err := encodeNotes(all)
				if err != nil {
					t.Fatal(err)
				}
				notes, err := decodeNotes(stored)
				if err != nil {
					t.Fatal(err)
				}
				l = newLedger(defaults)
				l.restore(laneRecords{}, notes, start, grace)
			}
			l.set(planOf("app", c.during), start)
			l.set(planOf("app", c.before), start)
			if got := l.note(one).Allowed; got != c.want {
				t.Errorf("%s, restart %t: allowed is %t", c.reason, restart, got)
			}
		}
	}
}

// The plan changes while the decision about the earlier plan is being stored. The decision has no effect on
// the changed plan.
func TestLedger_ignoresADecisionForAChangedPlan(t *testing.T) {
	ends := decide.Fate{UID: one, Own: true, Act: decide.End, Due: true, Lane: tenant(set)}
	for reason, change := range map[string]func(*decide.Fate){
		"another lane": func(f *decide.Fate) { f.Lane = admin(set) },
		"not due":      func(f *decide.Fate) { f.Act, f.Due = decide.Keep, false },
		"held":         func(f *decide.Fate) { f.Override = decide.Override{Effect: decide.Hold, Until: start.Add(time.Hour)} },
		"paused":       func(f *decide.Fate) { f.Delayed.By = "Namespace team" },
	} {
		l := newLedger(defaults)
		l.set(planOf("app", ends), start)
		evaluated := evaluation{records: laneRecords{}, allow: []end{l.works[one].end.end}}
		f := ends
		change(&f)
		l.set(planOf("app", f), start)
		m := memory{notes: workNotes{}, essential: workNotes{}}
		l.allow(m, evaluated.allow[0])
		if l.apply(evaluated); l.note(one).Allowed || len(m.notes) > 0 {
			t.Errorf("%s: it is allowed", reason)
		}
	}
}

// The ledger forgets a stored note that no plan has named for one window after the start.
func TestLedger_forgets(t *testing.T) {
	l := newLedger(defaults)
	l.restore(laneRecords{}, workNotes{gone: {Known: true, Group: set}}, start, grace)
	l.forget(start.Add(defaults.Window), start)
	if all, _ := l.stored(); len(all) != 1 {
		t.Errorf("it has %v", all)
	}
	l.forget(start.Add(defaults.Window+time.Second), start)
	if all, _ := l.stored(); len(all) > 0 || !l.unsaved {
		t.Errorf("it has %v still", all)
	}
}

// waiting returns the Applications with a due deletion in a lane. They get a message if the ledger cannot
// decide.
func TestLedger_returnsWaitingApplications(t *testing.T) {
	l := newLedger(defaults)
	l.set(planOf("due", decide.Fate{UID: one, Own: true, Act: decide.End, Due: true, Lane: tenant(set)}), start)
	l.set(planOf("upcoming", decide.Fate{UID: two, Own: true, Lane: tenant(set)}), start)
	l.set(planOf("replaced", decide.Fate{UID: gone, Own: true, Act: decide.End, Due: true}), start)
	if got := l.waiting(); !slices.Equal(got, []types.NamespacedName{key("due")}) {
		t.Errorf("it is %v", got)
	}
}
