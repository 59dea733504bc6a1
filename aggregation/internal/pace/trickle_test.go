// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

// rows is how full the usual limit is with so many rows.
func rows(n int) float64 { return float64(n*283+2500) / (1 << 20) }

func TestTrickleIsGathered(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for name, test := range map[string]struct {
		why          string
		full         float64
		changes      []change
		share        float64 // most writes per change
		p50, longest time.Duration
	}{
		"5 a second, 10 reports of 500 rows":   {"each write carries two changes, and half of them are there within the second", rows(500), atRandom(20_000, 10, 200*ms), .51, 900 * ms, 2750 * ms},
		"the same in turn":                     {"no chance brings two together, so each second waits", rows(500), steadily(3000, 10, 200*ms), .52, 2 * s, 2750 * ms},
		"5 a second, 10 reports of 2,000 rows": {"a larger one is gathered for longer", rows(2000), atRandom(20_000, 10, 200*ms), .44, 2500 * ms, 2750 * ms},
		"5 a second, one report of 500 rows":   {"the more come, the more are carried, and sooner", rows(500), atRandom(3000, 1, 200*ms), .18, 700 * ms, 2750 * ms},
		"5 a second, 10 reports of 50 rows":    {"small ones cost little, so they wait little", rows(50), atRandom(20_000, 10, 200*ms), .95, 150 * ms, 500 * ms},
		"5 a second, 10 reports of 5 rows":     {"as good as nothing", rows(5), atRandom(20_000, 10, 200*ms), 1, 110 * ms, 500 * ms},
		"1 in 20 s, 100 reports of 500 rows":   {"gathering would hold rows back for next to nothing", rows(500), atRandom(20_000, 100, 200*ms), 1, 150 * ms, 2750 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, test.full, 20*ms, test.changes)
			share, p50 := float64(got.writes)/float64(len(test.changes)), got.quantile(.5)
			if share > test.share || p50 > test.p50 || got.longest > test.longest {
				t.Errorf("%s: %.3f writes per change, half of them within %s, all within %s; want at most %.3f, %s and %s", test.why, share, p50, got.longest, test.share, test.p50, test.longest)
			}
		})
	}
}

// Whatever comes, and however large the reports are: short of a storm no row waits longer
// than aloneMost intervals, one that comes when its report was quiet goes at once, and the
// writes of a report keep their distance.
func TestNoRowWaitsLonger(t *testing.T) {
	const interval, longest, lone = 500 * time.Millisecond, 2750 * time.Millisecond, 250 * time.Millisecond
	const quiet = spareMost * spareAfter * interval
	for range 200 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		reports := 1 + r.IntN(20)
		var changes []change
		var at time.Duration
		for range 300 {
			at += times(time.Second, r.ExpFloat64()/(.05+12*r.Float64()))
			if r.IntN(30) == 0 {
				at += quiet
			}
			changes = append(changes, change{at, r.IntN(reports)})
		}
		got := play(t, 2*r.Float64(), 20*time.Millisecond, changes)
		written := map[int]time.Duration{} // by report
		for i, c := range changes {
			last, before := written[c.report]
			switch wait := got.waits[i]; {
			case before && c.at+wait != last && c.at+wait-last < interval:
				t.Fatalf("seed %d: the write of change %d begins %s after the last one", seed, i, c.at+wait-last)
			case wait > longest:
				t.Fatalf("seed %d: change %d waits for %s", seed, i, wait)
			case (!before || c.at-last > quiet) && wait > lone:
				t.Fatalf("seed %d: change %d waits for %s, %s after the last write", seed, i, wait, c.at-last)
			}
			written[c.report] = c.at + got.waits[i]
		}
	}
}

// A report has two writes to spare; what comes then waits, for long when it is alone.
func TestSpareWrites(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	key := reportName(1)
	now := noon
	p := New(Limits{Delay: 100 * ms, Interval: 500 * ms})
	p.Sized(key, 2*dear)
	waits := func(why string, want time.Duration) {
		t.Helper()
		wait, look := p.Changed(key, now)
		if !look || wait != want {
			t.Errorf("%s: a change is looked at (%t) after %s, want %s", why, look, wait, want)
		}
	}
	write := func(after time.Duration) {
		t.Helper()
		now = now.Add(after)
		if b, wait := p.Take(key, now); b.Changes == 0 {
			t.Fatalf("nothing is due, but in %s", wait)
		}
	}
	waits("the first", 100*ms)
	write(118750 * time.Microsecond)
	now = now.Add(s)
	waits("the second", 100*ms)
	write(118750 * time.Microsecond)
	now = now.Add(s)
	waits("the third", 2750*ms)
	now = now.Add(s)
	if _, wait := p.Take(key, now); wait != 1750*ms {
		t.Errorf("what waits alone is due in %s, want the rest of it", wait)
	}
	waits("company of it", 1400*ms)
	now = now.Add(s)
	if wait, look := p.Changed(key, now); look {
		t.Errorf("a third makes no difference, but is looked at after %s", wait)
	}
	write(400 * ms)
	now = now.Add(8 * s)
	waits("one is to spare again", 100*ms)
}

// What a write takes is part of how long a row is missing.
func TestSlowWritesLeaveLessToWait(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	l := Limits{Delay: 100 * ms, Interval: 500 * ms}
	for name, test := range map[string]struct {
		why  string
		last history
		want time.Duration
	}{
		"none yet":           {"nothing is known of how long one takes", history{bytes: dear}, 2750 * ms},
		"as fast as usual":   {"a quarter of a second is reckoned with", history{bytes: dear, took: 250 * ms, tookBefore: 250 * ms}, 2750 * ms},
		"slow":               {"row and write within three seconds", history{bytes: 8 * dear, took: 700 * ms, tookBefore: 600 * ms}, 2400 * ms},
		"slow and small":     {"a small one has its share of that", history{bytes: dear / 2, took: s, tookBefore: s}, s},
		"a pause":            {"one slow write may have met a pause of the server", history{bytes: dear, took: 9 * s, tookBefore: 100 * ms}, 2750 * ms},
		"slower than it may": {"the distance of writes has the say then", history{bytes: dear, took: 9 * s, tookBefore: 9 * s}, 0},
	} {
		if got := l.alone(test.last); got != test.want {
			t.Errorf("%s: %s: a change waits alone for %s, want %s", name, test.why, got, test.want)
		}
	}
}

// A change that would be written alone does not wait for company when a storm begins: that
// gathers anyhow.
func TestStormGathersByItself(t *testing.T) {
	p := New(Limits{Delay: 100 * time.Millisecond, Interval: 500 * time.Millisecond})
	now := noon
	for range spareMost {
		p.Sized(reportName(1), dear)
		wait, _ := p.Changed(reportName(1), now)
		now = now.Add(wait)
		p.Take(reportName(1), now)
	}
	now = now.Add(time.Second)
	for i := range 2 * stormBegins {
		p.Changed(reportName(100+i), now)
	}
	wait, look := p.Changed(reportName(1), now)
	if !look || wait > 250*time.Millisecond {
		t.Errorf("in a storm a change is looked at (%t) after %s", look, wait)
	}
	now = now.Add(wait)
	if b, wait := p.Take(reportName(1), now); b.Changes != 0 || wait <= 0 || wait > 400*time.Millisecond {
		t.Errorf("%d changes are due in %s, want none before the storm is over", b.Changes, wait)
	}
}
