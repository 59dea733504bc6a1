// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// change is one change of one report, at a time since the start.
type change struct {
	at     time.Duration
	report int
}

// steadily returns changes at a steady rate, of one report after the other.
func steadily(changes, reports int, every time.Duration) []change {
	var all []change
	for i := range changes {
		all = append(all, change{time.Duration(i) * every, i % reports})
	}
	return all
}

// after returns the changes so much later.
func after(wait time.Duration, changes []change) []change {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].at += wait
	}
	return changes
}

// paused returns the changes as they come when everything stands still for a
// pause in each period, and what it held back comes at once when it ends.
func paused(changes []change, period, pause time.Duration) []change {
	changes = slices.Clone(changes)
	for i, c := range changes {
		changes[i].at = max(c.at, c.at.Truncate(period)+pause)
	}
	return changes
}

// atRandom returns as many changes in the same time, at any time and of any report.
func atRandom(changes, reports int, every time.Duration) []change {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]change, changes)
	for i := range all {
		all[i] = change{time.Duration(r.Int64N(int64(changes) * int64(every))), r.IntN(reports)}
	}
	return all
}

// outcome is what became of the changes.
type outcome struct {
	writes  int
	longest time.Duration // wait of a change
	tail    time.Duration // from the last change to the last write
}

// play plays changes on a clock of its own, each write begun as soon as it is due.
func play(t *testing.T, fullness float64, took time.Duration, changes []change) outcome {
	t.Helper()
	all := slices.Clone(changes)
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := start
	p := newPacer(Pace{Min: 100 * time.Millisecond, Max: 500 * time.Millisecond})
	p.now = func() time.Time { return now }
	name := func(report int) types.NamespacedName {
		return types.NamespacedName{Namespace: "argocd", Name: strconv.Itoa(report)}
	}
	var o outcome
	carried := 0
	first := map[int]time.Time{} // of the changes that are not written
	looks := map[int]time.Time{} // when the queue hands a report out
	until := func(end time.Time) {
		for len(looks) > 0 {
			next := slices.MinFunc(slices.Collect(maps.Keys(looks)), func(a, b int) int {
				return cmp.Or(looks[a].Compare(looks[b]), cmp.Compare(a, b))
			})
			if !looks[next].Before(end) {
				return
			}
			now = looks[next]
			b, wait := p.take(name(next))
			if wait > 0 {
				looks[next] = now.Add(wait)
				continue
			}
			o.writes++
			o.longest = max(o.longest, now.Sub(first[next]))
			o.tail = now.Sub(start.Add(all[len(all)-1].at))
			carried += b.changes
			delete(looks, next)
			delete(first, next)
			now = now.Add(took)
			p.written(name(next), b)
			now = now.Add(-took) // the others go on meanwhile
		}
	}
	for _, c := range all {
		p.sized(name(c.report), fullness)
		until(start.Add(c.at))
		now = start.Add(c.at)
		if wait, is := p.changed(name(c.report)); is {
			first[c.report], looks[c.report] = now, now.Add(wait)
		}
	}
	until(now.Add(time.Hour))
	if carried != len(all) {
		t.Errorf("%d of %d changes were written", carried, len(all))
	}
	return o
}

func TestPacerBoundsWrites(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	storm := steadily(3000, 10, 12*ms) // of 36 s, as a commit to a shared chart makes in 5,000 Applications
	lost := func(reports int) []change { return after(10*s+ms, steadily(reports, reports, 0)) }
	for name, test := range map[string]struct {
		why     string
		full    float64
		took    time.Duration // by a write
		changes []change
		most    outcome
	}{
		"500 of one report in half a second": {"all at once is one write", .1, 20 * ms, steadily(500, 1, ms), outcome{1, 900 * ms, 400 * ms}},
		"500 of one report in 2.5 seconds":   {"as fast as a server takes them", .1, 20 * ms, steadily(500, 1, 5*ms), outcome{2, 3 * s, 400 * ms}},
		"500 of one report in 5 seconds":     {"a slow server", .1, 20 * ms, steadily(500, 1, 10*ms), outcome{3, 3 * s, 400 * ms}},
		"500 of a full report in 5 seconds":  {"no more when it is large", 1, 20 * ms, steadily(500, 1, 10*ms), outcome{3, 3 * s, 400 * ms}},
		"one report without end":             {"it still moves every three seconds", .1, 20 * ms, steadily(10_000, 1, 10*ms), outcome{35, 3 * s, 400 * ms}},

		"storm over 2 reports":    {"they are held back as one is", .15, 20 * ms, steadily(3000, 2, 12*ms), outcome{26, 3 * s, 500 * ms}},
		"storm over 10 reports":   {"no report alone is fast, all together are", .15, 20 * ms, storm, outcome{100, 4 * s, 500 * ms}},
		"storm, slow writes":      {"they take no larger part of the time", .15, 60 * ms, storm, outcome{40, 12 * s, 500 * ms}},
		"storm, slower writes":    {"people watch it", .15, time.Second, storm, outcome{40, 15 * s, 500 * ms}},
		"storm over 100 reports":  {"the more reports, the fewer changes share a write", .05, 20 * ms, steadily(3000, 100, 12*ms), outcome{330, 15 * s, 500 * ms}},
		"storm at random":         {"chance does not end it", .15, 20 * ms, atRandom(3000, 10, 12*ms), outcome{100, 4 * s, 500 * ms}},
		"storm with pauses":       {"an API server that pauses gets no write of each report for it", .15, 20 * ms, paused(storm, 2*s, 300*ms), outcome{100, 4500 * ms, 500 * ms}},
		"storm without end":       {"every report moves every four seconds", .15, 20 * ms, steadily(50_000, 10, 12*ms), outcome{1550, 4 * s, 500 * ms}},
		"just below a storm":      {"two thirds of the rate are steady", .15, 20 * ms, atRandom(30_000, 10, 60*ms), outcome{23_000, 500 * ms, 500 * ms}},
		"5 a second, one report":  {"steady changes are seen within the second", .5, 20 * ms, steadily(300, 1, 200*ms), outcome{121, 500 * ms, 500 * ms}},
		"5 a second, full":        {"the same at the size limit", 1, 20 * ms, steadily(300, 1, 200*ms), outcome{121, 500 * ms, 500 * ms}},
		"5 a second, 10 reports":  {"the same in several", 1, 20 * ms, atRandom(3000, 10, 200*ms), outcome{3000, 500 * ms, 500 * ms}},
		"5 a second, 100 reports": {"the same in many", 1, 20 * ms, atRandom(3000, 100, 200*ms), outcome{3000, 500 * ms, 500 * ms}},

		"a cluster lost, 10 reports":  {"no storm", .1, 20 * ms, lost(10), outcome{10, 115 * ms, 115 * ms}},
		"a cluster lost, 100 reports": {"a short one", .1, 20 * ms, lost(100), outcome{100, 400 * ms, 400 * ms}},
		"lost among 5 a second":       {"the others do not make it longer", .1, 20 * ms, append(steadily(300, 10, 200*ms), lost(100)...), outcome{400, 500 * ms, 500 * ms}},
		"lone changes, small report":  {"are seen at once", .01, 20 * ms, steadily(10, 1, 5*s), outcome{10, 110 * ms, 110 * ms}},
		"lone changes, full report":   {"are seen within the second", 1, 20 * ms, steadily(10, 1, 5*s), outcome{10, 250 * ms, 250 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			got := play(t, test.full, test.took, test.changes)
			if got.writes > test.most.writes || got.longest > test.most.longest || got.tail > test.most.tail {
				t.Errorf("%s: %d writes, longest wait %s, the last write %s after the last change; want at most %d, %s and %s",
					test.why, got.writes, got.longest, got.tail, test.most.writes, test.most.longest, test.most.tail)
			}
		})
	}
}

func TestFloodIsForgotten(t *testing.T) {
	for name, test := range map[string]struct {
		why   string
		every time.Duration // between changes after the storm
		want  time.Duration
	}{
		"nothing follows":   {"a storm ends with its changes", time.Hour, 400 * time.Millisecond},
		"5 a second follow": {"steady changes do not keep it up", 200 * time.Millisecond, 600 * time.Millisecond},
		"20 a second":       {"nor do as many as are just no storm", 50 * time.Millisecond, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
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
