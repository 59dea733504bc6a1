// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/status"
)

var (
	start      = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	everything = Rights{All: true}
)

func later(intervals int) time.Time { return start.Add(time.Duration(intervals) * Interval) }

// shows returns the Applications of an overview, one in a line.
func shows(o *Overview) (words []string) {
	for _, s := range o.Sets {
		for _, a := range s.Rows {
			words = append(words, fmt.Sprintf("%s/%s %s on %s", s.Key.Name, a.Name, a.Health, a.Cluster))
		}
	}
	return words
}

// The view has the current state after any sequence of changes.
func TestFleet_followsTheApplications(t *testing.T) {
	f := NewFleet()
	moved := row("b", "c2 Missing Synced")
	moved.Name = "a-c1"
	alone := &App{AppFields: AppFields{Namespace: "argocd", Name: "alone", State: Refused, Health: "Unknown", Sync: "Unknown"}}
	for i, step := range []struct {
		why  string
		do   func()
		want []string
	}{
		{"the first list", func() { f.Replace([]*App{row("a", "c1 Healthy Synced"), row("b", "c1 Healthy Synced")}) }, []string{"a/a-c1 Healthy on c1", "b/b-c1 Healthy on c1"}},
		{"a change", func() { f.Put(row("a", "c1 Degraded Synced")) }, []string{"a/a-c1 Degraded on c1", "b/b-c1 Healthy on c1"}},
		{"another ApplicationSet and cluster", func() { f.Put(moved) }, []string{"b/b-c1 Healthy on c1", "b/a-c1 Missing on c2"}},
		{"one that no ApplicationSet controls", func() { f.Put(alone) }, []string{"b/b-c1 Healthy on c1", "b/a-c1 Missing on c2"}},
		{"one is gone", func() { f.Delete(moved.Key()) }, []string{"b/b-c1 Healthy on c1"}},
		{"and again", func() { f.Delete(moved.Key()) }, []string{"b/b-c1 Healthy on c1"}},
		{"another list", func() { f.Replace([]*App{row("c", "c1 Healthy Synced"), alone}) }, []string{"c/c-c1 Healthy on c1"}},
	} {
		step.do()
		o := f.View(later(i)).Overview(everything)
		if diff := cmp.Diff(step.want, shows(o)); diff != "" {
			t.Errorf("%s: %s", step.why, diff)
		}
	}
	o := f.View(later(9)).Overview(everything)
	if got := o.Undelivered(); len(got) != 1 || got[0] != alone {
		t.Errorf("not delivered: %v", got)
	}
	if item, found := o.Find(alone.Key()); !found || item.Set.Key.Name != "" {
		t.Errorf("the Application of no ApplicationSet: %v", item)
	}
	if o.Set(types.NamespacedName{Namespace: "argocd"}) != nil {
		t.Error("those of no ApplicationSet are one")
	}
}

// Requests within a second share one view. Later requests get a new view only after a change.
func TestView_isSharedWithinASecond(t *testing.T) {
	f := NewFleet()
	f.Put(row("a", "c1 Healthy Synced"))
	first := f.View(start)
	f.Put(row("a", "c1 Degraded Synced"))
	if f.View(start.Add(Interval-1)) != first {
		t.Error("within a second there are two")
	}
	next := f.View(later(1))
	if next == first || next.Overview(everything).Total.Healthy() != 0 || first.Overview(everything).Total.Healthy() != 1 {
		t.Error("a change is not in it, or it is in the one before")
	}
	f.Put(row("a", "c1 Degraded Synced"))
	if f.View(later(99)) != next {
		t.Error("what has not changed is made again")
	}
	if o := next.Overview(everything); o != next.Overview(everything) || o == next.Overview(Rights{Namespaces: []string{"argocd"}}) {
		t.Error("viewers with the same rights do not share, or others do")
	}
	if o := next.Overview(Rights{Namespaces: []string{"other"}}); len(o.Sets) != 0 || o.Total.Applications != 0 {
		t.Errorf("a namespace that is not allowed is shown: %v", shows(o))
	}
}

// The version of a viewer's overview changes exactly when its content changes.
func TestOverview_changesItsVersionWithItsContent(t *testing.T) {
	f := NewFleet()
	own, others := row("a", "c1 Healthy Synced"), row("b", "c1 Healthy Synced")
	others.Namespace = "team-b"
	f.Replace([]*App{own, others})
	rights := Rights{Namespaces: []string{"argocd"}}
	last := f.View(start).Overview(rights)
	for i, step := range []struct {
		why    string
		do     func()
		change bool
	}{
		{"nothing", func() {}, false},
		{"the same again", func() { f.Put(row("a", "c1 Healthy Synced")) }, false},
		{"another namespace", func() { f.Delete(others.Key()) }, false},
		{"a change", func() { f.Put(row("a", "c1 Missing Synced")) }, true},
		{"a new ApplicationSet", func() { f.Put(row("z", "c1 Missing Synced")) }, true},
		{"one that is gone", func() { f.Delete(row("z", "c1 Missing Synced").Key()) }, true},
		{"a cluster", func() { f.SetCluster(Cluster{Cluster: status.Cluster{Name: "c1", Exists: true}}) }, true},
		{"the same cluster again", func() { f.SetCluster(Cluster{Cluster: status.Cluster{Name: "c1", Exists: true}}) }, false},
		{"a cluster that is gone", func() { f.SetCluster(Cluster{Cluster: status.Cluster{Name: "c1"}}) }, true},
		{"all of it gone", func() { f.Replace(nil) }, true},
	} {
		step.do()
		now := f.View(later(i + 1)).Overview(rights)
		if (now.Version != last.Version) != step.change || now != last && !step.change {
			t.Errorf("%s: from %s to %s, the same %t", step.why, last.Version, now.Version, now == last)
		}
		last = now
	}
	if n := len(f.View(later(99)).Namespaces); n != 0 {
		t.Errorf("%d namespaces of nothing", n)
	}
}

// If viewers have many different permissions, a view keeps at most eight overviews.
func TestView_limitsItsOverviews(t *testing.T) {
	f := NewFleet()
	f.Put(row("a", "c1 Healthy Synced"))
	v := f.View(start)
	for n := range 100 {
		v.Overview(Rights{Namespaces: []string{fmt.Sprint(n)}})
	}
	if n := len(v.overviews); n > maxOverviews {
		t.Errorf("%d are held", n)
	}
}

func TestCompareDelivery(t *testing.T) {
	app := func(state State, name, health, sync string) *App {
		return &App{AppFields: AppFields{State: state, Name: name, Health: health, Sync: sync}}
	}
	apps := []*App{
		app(Rendered, "5", "Healthy", "Synced"), app(Rendered, "4", "Degraded", "Synced"), app(Warned, "3", "", ""),
		app(Refused, "b", "", ""), app(Refused, "a", "", ""), app(Held, "2", "", ""),
	}
	slices.SortFunc(apps, CompareDelivery)
	var order string
	for _, a := range apps {
		order += a.Name
	}
	if order != "ab2345" {
		t.Errorf("the order is %s", order)
	}
}
