// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
)

// What has not changed is not looked at again, and what no page shows is not held.
func TestFleet_readsOnlyWhatChanged(t *testing.T) {
	source := &fleet{rows: map[types.NamespacedName][]*merge.Row{key("a"): {row("a", "c1 Healthy Synced")}, key("b"): {row("b", "c1 Healthy Synced")}}}
	f := NewFleet(source)
	f.Changed(key("a"))
	f.Sets(everything)
	f.Sets(everything)
	if source.asked != 2 {
		t.Errorf("asked %d times for two sets", source.asked)
	}
	source.rows[key("a")] = []*merge.Row{row("a", "c1 Degraded Synced")}
	f.Changed(key("a"))
	if s := f.Set(key("a")); s.Counts.NotHealthy() != 1 || source.asked != 3 {
		t.Errorf("%+v after %d questions", s.Counts, source.asked)
	}
	delete(source.rows, key("b"))
	if sets := f.Sets(everything); len(sets) != 1 || len(f.sets) != 1 || f.Set(key("b")) != nil {
		t.Errorf("%d sets, %d held", len(sets), len(f.sets))
	}
	f.Release()
	f.Changed(key("a"))
	if f.sets != nil || f.changed != nil {
		t.Error("it holds something that nobody asked for")
	}
	if sets := f.Sets(func(namespace string) bool { return namespace != "argocd" }); len(sets) != 0 {
		t.Error("a namespace that is not allowed is shown")
	}
}

// Those who ask for one moment share what it was, whatever changes meanwhile; who asks for
// a later one, for now or for something else does not.
func TestOverview_isSharedWithinAMoment(t *testing.T) {
	source := &fleet{rows: map[types.NamespacedName][]*merge.Row{key("a"): {row("a", "c1 Healthy Synced")}, key("b"): {row("b", "c2 Healthy Synced")}}}
	f := NewFleet(source)
	change := func(health string) {
		source.rows[key("a")] = []*merge.Row{row("a", "c1 "+health+" Synced")}
		f.Changed(key("a"))
	}
	first := f.Overview(everything, 7)
	change("Degraded")
	if f.Overview(everything, 7) != first || f.Overview(everything, 6) != first {
		t.Error("of one moment there are two")
	}
	if none := f.Overview(func(string) bool { return false }, 7); none == first || len(none.Sets) != 0 {
		t.Error("who may see nothing sees what others see")
	}
	later := f.Overview(everything, 8)
	if later == first || later.Total.Healthy() != 1 || f.Overview(everything, 7) != later {
		t.Errorf("of the moment after: %d are healthy", later.Total.Healthy())
	}
	change("Healthy")
	if now := f.Overview(everything, 0); now.Total.Healthy() != 2 || f.Overview(everything, 8) == later {
		t.Errorf("now: %d are healthy", now.Total.Healthy())
	}
	now := f.Overview(everything, 9)
	source.rows[key("c")] = []*merge.Row{row("c", "c1 Healthy Synced")}
	f.Changed(key("c"))
	if f.Overview(everything, 9) == now {
		t.Error("an ApplicationSet is missing that there was not when others asked")
	}
}

// Who sees the same shares what they see, until it changes.
func TestOverview_isSharedUntilAChange(t *testing.T) {
	source := &fleet{rows: map[types.NamespacedName][]*merge.Row{key("a"): {row("a", "c1 Healthy Synced")}, key("b"): {row("b", "c2 Missing Synced Failed SyncError: no")}}}
	f := NewFleet(source)
	first := f.Overview(everything, 0)
	if first.Total.Applications != 2 || len(first.Clusters()) != 2 || len(first.Groups()) != 1 || first.Worst()[0].Key != key("b") || first.Sets[0].Key != key("a") {
		t.Errorf("%+v", first)
	}
	if none := f.Overview(func(string) bool { return false }, 0); none == first || len(none.Worst()) != 0 {
		t.Error("who may see nothing sees what others see")
	}
	if f.Overview(everything, 0) != first {
		t.Error("it is made again though nothing has changed")
	}
	source.rows[key("a")] = []*merge.Row{row("a", "c1 Degraded Synced")}
	f.Changed(key("a"))
	if now := f.Overview(everything, 0); now == first || now.Total.Healthy() != 0 || first.Total.Healthy() != 1 {
		t.Error("a change is not in it, or it is in the one before")
	}
	if len(f.overviews) != 1 {
		t.Errorf("%d are held, of what is no more", len(f.overviews))
	}
	if f.Release(); f.overviews != nil {
		t.Error("one is held for nobody")
	}
}

// An ApplicationSet without rows leaves what all see together as it is.
func TestFleet_emptySetKeepsOverview(t *testing.T) {
	source := &fleet{rows: map[types.NamespacedName][]*merge.Row{key("a"): {row("a", "c1 Healthy Synced")}, key("empty"): nil}}
	f := NewFleet(source)
	all := func(string) bool { return true }
	if first, second := f.Overview(all, 0), f.Overview(all, 0); first != second {
		t.Error("it is made anew for each request")
	}
	delete(source.rows, key("empty"))
	f.Overview(all, 0)
	if n := f.Held(); n != 1 {
		t.Errorf("%d sets are held", n)
	}
}
