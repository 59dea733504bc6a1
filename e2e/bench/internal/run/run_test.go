// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
)

func TestSizes(t *testing.T) {
	for _, s := range rig.Sizes() {
		if found, err := rig.FindSize(s.Name); err != nil || found.Clusters != s.Clusters {
			t.Errorf("%s is not found: %v", s.Name, err)
		}
		if last := len(s.Stages) - 1; s.At(last) != s.Clusters {
			t.Errorf("%s: the last stage has %d of %d clusters", s.Name, s.At(last), s.Clusters)
		}
		if s.Restart < 1 {
			t.Errorf("%s: a restart may take %v bare LISTs", s.Name, s.Restart)
		}
		all := phases()
		for _, key := range s.Without {
			if !slices.ContainsFunc(all, func(p phase) bool { return p.key == key }) {
				t.Errorf("%s leaves out %s, which is no phase", s.Name, key)
			}
		}
	}
	if _, err := rig.FindSize("huge"); err == nil {
		t.Error("a size that is not there is found")
	}
}

func TestChoose(t *testing.T) {
	all := []phase{{key: "grow"}, {key: "latency"}, {key: "wide"}}
	keys := func(phases []phase) (keys string) {
		for _, p := range phases {
			keys += p.key + " "
		}
		return keys
	}
	for name, c := range map[string]struct {
		reason        string
		without, only []string
		want          string
		fails         bool
	}{
		"all":     {"nothing is asked for in particular", nil, nil, "grow latency wide ", false},
		"less":    {"the size leaves one out", []string{"wide"}, nil, "grow latency ", false},
		"one":     {"the fleet has to be there before", nil, []string{"latency"}, "fill latency ", false},
		"two":     {"each finds what the one before it leaves behind", nil, []string{"wide", "latency"}, "fill latency wide ", false},
		"anyway":  {"who asks for what the size leaves out gets it", []string{"wide"}, []string{"wide"}, "fill wide ", false},
		"unknown": {"a phase that is not there is no phase that passed", nil, []string{"latency", "bust"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := choose(rig.Options{Size: rig.Size{Without: c.without}, Only: c.only}, all)
			if keys(got) != c.want || (err != nil) != c.fails {
				t.Errorf("%s: %q, %v", c.reason, keys(got), err)
			}
		})
	}
}

// InTurn draws one Application of each ApplicationSet in turn.
func TestInTurn_drawsFromEachApplicationSet(t *testing.T) {
	b := &rig.Load{Random: rand.New(rand.NewPCG(1, 2)), Apps: []*rig.Application{{Set: "a"}, {Set: "b"}, {Set: "a"}, {Set: "b"}, {Set: "b"}}}
	var sets string
	for _, c := range b.InTurn(5) {
		sets += c.Set
	}
	if sets != "ababa" {
		t.Errorf("the ApplicationSets are %s", sets)
	}
}

// No Application has two changes in flight. Otherwise a cluster would report an older revision last.
func TestDraw_keepsTheOrderOfChanges(t *testing.T) {
	b := &rig.Load{Random: rand.New(rand.NewPCG(1, 2))}
	apps := []*rig.Application{{}, {}, {}}
	changes := b.Draw(apps, 8)
	last := map[*rig.Application]rig.Change{}
	for i, c := range changes {
		before, again := last[c.Application]
		if again != (c.Before != nil) || again && c.Before != before.Sent {
			t.Errorf("change %d does not wait for the one before it of the same Application", i)
		}
		if again && i < 3 {
			t.Errorf("change %d: an Application has its second turn before all had their first", i)
		}
		last[c.Application] = c
	}
	for a, c := range last {
		if a.Revision != c.Revision {
			t.Errorf("an Application ends at %s, its last change is %s", a.Revision, c.Revision)
		}
	}
}

func TestPaced_runsAllAndReturnsTheFirstError(t *testing.T) {
	var n atomic.Int64
	first := errors.New("first")
	err := rig.Paced(t.Context(), 5, 1000, func(_ context.Context, i int) error {
		n.Add(1)
		if i == 2 {
			return first
		}
		return nil
	})
	if !errors.Is(err, first) || n.Load() != 5 {
		t.Errorf("%d calls, %v", n.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rig.Paced(ctx, 5, 1000, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestStopwatch_timesEachRevisionOnce(t *testing.T) {
	s := rig.NewStopwatch("hub", "report")
	s.Start("be01")
	s.Start("be02")
	s.See("hub", json.RawMessage(`{"revision":"be01"}`), time.Now())
	s.See("hub", json.RawMessage(`{"revision":"be01"}`), time.Now())
	s.See("report", json.RawMessage(`{"rows":["be01","be02"]}`), time.Now())
	if len(s.Times("hub")) != 1 || len(s.Times("report")) != 2 || s.Left() != 1 {
		t.Errorf("hub %v, report %v, %d left", s.Times("hub"), s.Times("report"), s.Left())
	}
}

func TestPerSecond(t *testing.T) {
	var p rig.Throughput
	if p.PerSecond() != 0 {
		t.Error("nothing done in no time is a rate")
	}
	p.Add(100, time.Second)
	p.Add(50, 2*time.Second)
	if p.PerSecond() != 50 {
		t.Errorf("150 in 3 s are %v a second", p.PerSecond())
	}
}
