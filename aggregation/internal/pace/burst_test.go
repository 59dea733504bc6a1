// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"testing"
	"time"
)

// most is the upper limit of an outcome.
type most struct {
	writes        int
	longest, tail time.Duration
}

func TestPacer_boundsWrites(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	storm := steadily(3000, 10, 12*ms) // 36 s long: a commit to a shared chart changes 5,000 Applications
	lost := func(reports int) []change { return after(10*s+ms, steadily(reports, reports, 0)) }
	for name, test := range map[string]struct {
		why     string
		took    time.Duration // duration of a write
		changes []change
		most    most
	}{
		"500 of one report in half a second": {"all at once is one write", 20 * ms, steadily(500, 1, ms), most{1, 900 * ms, 400 * ms}},
		"500 of one report in 2.5 seconds":   {"as fast as a server takes them", 20 * ms, steadily(500, 1, 5*ms), most{2, 3 * s, 400 * ms}},
		"500 of one report in 5 seconds":     {"a slow server", 20 * ms, steadily(500, 1, 10*ms), most{3, 3 * s, 400 * ms}},
		"one report without end":             {"it still moves every three seconds", 20 * ms, steadily(10_000, 1, 10*ms), most{35, 3 * s, 400 * ms}},

		"storm over 2 reports":    {"they are held back as one is", 20 * ms, steadily(3000, 2, 12*ms), most{26, 3 * s, 500 * ms}},
		"storm over 10 reports":   {"no report alone is fast, all together are", 20 * ms, storm, most{100, 4 * s, 500 * ms}},
		"storm, slow writes":      {"they take no larger part of the time", 60 * ms, storm, most{40, 12 * s, 500 * ms}},
		"storm, slower writes":    {"people watch it", time.Second, storm, most{40, 15 * s, 500 * ms}},
		"storm over 100 reports":  {"the more reports, the fewer changes share a write", 20 * ms, steadily(3000, 100, 12*ms), most{330, 15 * s, 500 * ms}},
		"storm at random":         {"chance does not end it", 20 * ms, atRandom(3000, 10, 12*ms), most{100, 4 * s, 500 * ms}},
		"storm with pauses":       {"an API server that pauses gets no write of each report for it", 20 * ms, paused(storm, 2*s, 300*ms), most{100, 4500 * ms, 500 * ms}},
		"storm without end":       {"every report moves every four seconds", 20 * ms, steadily(50_000, 10, 12*ms), most{1550, 4 * s, 500 * ms}},
		"just below a storm":      {"two thirds of the rate are a trickle", 20 * ms, atRandom(30_000, 10, 60*ms), most{10_000, 2 * s, 2 * s}},
		"5 a second, one report":  {"steady changes are gathered", 20 * ms, steadily(300, 1, 200*ms), most{34, 2 * s, 2 * s}},
		"5 a second, 10 reports":  {"the same in several", 20 * ms, atRandom(3000, 10, 200*ms), most{2350, 2 * s, 2 * s}},
		"5 a second, 100 reports": {"in many most are alone", 20 * ms, atRandom(3000, 100, 200*ms), most{3000, 2 * s, 2 * s}},

		"a cluster lost, 10 reports":  {"no storm", 20 * ms, lost(10), most{10, 115 * ms, 115 * ms}},
		"a cluster lost, 100 reports": {"a short one", 20 * ms, lost(100), most{100, 400 * ms, 400 * ms}},
		"lost among 5 a second":       {"the others do not make it longer", 20 * ms, append(steadily(300, 10, 200*ms), lost(100)...), most{400, 2500 * ms, 2500 * ms}},
		"lone changes, small report":  {"are seen at once", 20 * ms, steadily(10, 1, 5*s), most{10, 110 * ms, 110 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, test.took, test.changes)
			if got.writes > test.most.writes || got.longest > test.most.longest || got.tail > test.most.tail {
				t.Errorf("%s: %d writes, longest wait %s, the last write %s after the last change; want at most %d, %s and %s",
					test.why, got.writes, got.longest, got.tail, test.most.writes, test.most.longest, test.most.tail)
			}
		})
	}
}

func TestFlood_isForgotten(t *testing.T) {
	for name, test := range map[string]struct {
		why   string
		every time.Duration // between changes after the burst
		want  time.Duration
	}{
		"nothing follows":   {"a storm ends with its changes", time.Hour, 400 * time.Millisecond},
		"5 a second follow": {"steady changes do not keep it up", 200 * time.Millisecond, 600 * time.Millisecond},
		"20 a second":       {"nor do as many as are just no storm", 50 * time.Millisecond, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			var f flood
			for range 10_000 {
				now = now.Add(12 * time.Millisecond)
				f.add(now)
			}
			ended := now
			for next := now.Add(test.every); f.over(now) > 0; {
				if now = now.Add(f.over(now)); !now.Before(next) {
					now, next = next, next.Add(test.every)
					f.add(now)
				}
			}
			if got := now.Sub(ended); got > test.want+time.Millisecond {
				t.Errorf("%s: over after %s, want %s", test.why, got, test.want)
			}
		})
	}
}

// The pacer limits how often all waiting reports together are checked during a burst.
func TestTake_checksManyReportsRarely(t *testing.T) {
	p, due := New(Limits{Interval: 500 * time.Millisecond}), noon.Add(Delay)
	for i := range 10_000 {
		p.Changed(reportName(i), noon)
	}
	if b, wait := p.Take(reportName(0), due); b.Changes != 0 || wait < 2*time.Second {
		t.Errorf("%d changes are due in %s", b.Changes, wait)
	}
	few := New(Limits{Interval: 500 * time.Millisecond})
	for range 100 {
		few.Changed(reportName(0), noon)
	}
	if b, wait := few.Take(reportName(0), due); b.Changes != 0 || wait > 400*time.Millisecond {
		t.Errorf("a single one: %d changes are due in %s", b.Changes, wait)
	}
}
