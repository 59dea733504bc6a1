// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

func result(a, b search.Item, order [2]int) search.Result {
	rows := []search.Item{a, b}
	return search.Result{Items: []search.Item{rows[order[0]], rows[order[1]]}, Related: []search.Item{object("c1", "", "v1", "ConfigMap", "n", "x", "c1/b"), node("c1", "c1/b")}}
}

// state parses Applications from "app:a b app2:c". write formats a held resource as "(b@1)", and a held
// Application as "app@1:(b@1)".
func state(text string) []Application {
	var out []Application
	for _, part := range strings.Fields(text) {
		name, list, isApp := strings.Cut(part, ":")
		if isApp {
			out = append(out, Application{Namespace: "n", Name: name})
			part = list
		}
		if part != "" {
			a := &out[len(out)-1]
			a.Resources = append(a.Resources, intermediate.Resource{APIVersion: "v1", Kind: "ConfigMap", Name: part})
		}
	}
	return out
}

func write(apps []Application) string {
	var b strings.Builder
	for i := range apps {
		a := &apps[i]
		b.WriteString(a.Name)
		if !a.AbsentSince.IsZero() {
			fmt.Fprintf(&b, "@%d", a.AbsentSince.Unix())
		}
		b.WriteString(":")
		since := a.heldSince()
		for _, r := range a.Resources {
			if at, held := since[r]; held {
				fmt.Fprintf(&b, "(%s@%d)", r.Name, at.Unix())
				continue
			}
			b.WriteString(r.Name)
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

func TestMerge(t *testing.T) {
	steps := []struct {
		reason, answer string
		want           string
	}{
		{"all there", "x:a b c y:d", "x:abc y:d"},
		{"one is left out: it is held since now", "x:a c y:d", "x:a(b@2)c y:d"},
		{"another one: it does not begin the first one's time anew", "x:c y:d", "x:(a@3)(b@2)c y:d"},
		{"what comes is there at once", "x:c e y:d f", "x:(a@3)(b@2)ce y:df"},
		{"what comes back is held no more, and is left out anew", "x:b c e y:d f", "x:(a@3)bce y:df"},
		{"its time is new then", "x:c e y:d f", "x:(a@3)(b@6)ce y:df"},
		{"another Application has taken it over", "x:c e y:a d f", "x:(b@6)ce y:adf"},
		{"an Application is left out: so is all that it has", "y:a d f", "x@8:(b@6)(c@8)(e@8) y:adf"},
		{"still", "y:a d f", "x@8:(b@6)(c@8)(e@8) y:adf"},
		{"it comes back with one of its resources", "x:c y:a d f", "x:(b@6)c(e@8) y:adf"},
		{"nothing is left", "", "x@11:(b@6)(c@11)(e@8) y@11:(a@11)(d@11)(f@11)"},
	}
	var known []Application
	for i, s := range steps {
		fresh := state(s.answer)
		known = Merge(known, fresh, time.Unix(int64(i+1), 0))
		if got := write(known); got != s.want {
			t.Fatalf("%s:\n got %s\nwant %s", s.reason, got, s.want)
		}
	}
}

func TestMerge_holdsNothingOfAnotherSet(t *testing.T) {
	known, fresh := state("x:a b y:c"), state("x:a y:c")
	known[0].Set.Name = "before"
	got := Merge(known, fresh, time.Unix(1, 0))
	if write(got) != "x:a y:c" || got[0].Set.Name != "" {
		t.Errorf("got %s", write(got))
	}
}

func TestExpire(t *testing.T) {
	known := Merge(state("x:a b y:c"), state("x:a"), time.Unix(10, 0))
	known = Merge(known, state("x:"), time.Unix(20, 0))
	before := write(known)
	for at, want := range map[int64]string{10: "x:(a@20)(b@10) y@10:(c@10)", 11: "x:(a@20)", 21: "x:"} {
		got, expired := Expire(known, time.Unix(at, 0))
		if write(got) != want || expired != (write(got) != before) {
			t.Errorf("before %d: got %s, want %s", at, write(got), want)
		}
	}
	if write(known) != before {
		t.Errorf("changed to %s", write(known))
	}
	if applications, resources := Held(known); applications != 1 || resources != 2 {
		t.Errorf("%d Applications, %d resources", applications, resources)
	}
}

// Reports store the hold times, and Restore reads them.
func TestRestore_keepsHoldTimes(t *testing.T) {
	set := intermediate.Key{Namespace: "argocd", Name: "s"}
	own := func(apps []Application) []Application {
		for i := range apps {
			apps[i].Set = set
		}
		return apps
	}
	known := Merge(own(state("x:a b y:c d")), own(state("x:a")), time.Unix(10, 0).UTC())
	clusters := map[string]Cluster{"c1": {Applications: known}}
	reports := Reports([]intermediate.Key{set}, each(clusters))
	if stale := reports[0].Applications[1].StaleSince; stale == nil || stale.Unix() != 10 || reports[0].Applications[0].StaleSince != nil {
		t.Errorf("only the Application that is left out is dated: %+v", reports[0].Applications)
	}
	restored := map[string]Cluster{}
	Restore(reports[0], restored)
	if !reflect.DeepEqual(restored, clusters) {
		t.Errorf("restored %+v\nwant %+v", restored, clusters)
	}
}

func each(clusters map[string]Cluster) iter.Seq2[string, *Cluster] {
	return func(yield func(string, *Cluster) bool) {
		for name, c := range clusters {
			if !yield(name, &c) {
				return
			}
		}
	}
}
