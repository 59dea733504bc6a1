// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestPacer_gathersSteadyLoad(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for name, test := range map[string]struct {
		why          string
		changes      []change
		share        float64 // most writes per change
		p50, longest time.Duration
	}{
		"5 a second, 10 reports": {"a quarter of the writes is spared, and half of the rows are there within half a second", atRandom(20_000, 10, 200*ms), .8, 500 * ms, 2100 * ms},
		"the same in turn":       {"what never comes together is written at once", steadily(3000, 10, 200*ms), 1, 110 * ms, 2100 * ms},
		"5 a second, one report": {"one write every two seconds", atRandom(3000, 1, 200*ms), .11, 1100 * ms, 2100 * ms},
		"1 in 20 s, 100 reports": {"gathering would hold rows back for next to nothing", atRandom(20_000, 100, 200*ms), 1, 110 * ms, 2100 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, 20*ms, test.changes)
			share, p50 := float64(got.writes)/float64(len(test.changes)), got.quantile(.5)
			if share > test.share || p50 > test.p50 || got.longest > test.longest {
				t.Errorf("%s: %.3f writes per change, half of them within %s, all within %s; want at most %.3f, %s and %s", test.why, share, p50, got.longest, test.share, test.p50, test.longest)
			}
		})
	}
}

// Unless the changes are a burst, no row waits longer than distanceMost intervals. A change of a quiet
// report is written at once. Two writes of one report are at least an interval apart.
func TestPacer_limitsTheWaitOfARow(t *testing.T) {
	const interval, longest, lone = 500 * time.Millisecond, distanceMost * 500 * time.Millisecond, 100 * time.Millisecond
	const quiet = distanceMost * interval
	for range 200 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		reports := 1 + r.IntN(20)
		var changes []change
		var at time.Duration
		for range 300 {
			at += time.Duration(float64(time.Second) * r.ExpFloat64() / (.05 + 12*r.Float64()))
			if r.IntN(30) == 0 {
				at += quiet
			}
			changes = append(changes, change{at, r.IntN(reports)})
		}
		got := play(t, 20*time.Millisecond, changes)
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
