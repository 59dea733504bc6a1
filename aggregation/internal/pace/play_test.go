// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

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

// steadily returns changes at a steady rate. They cycle through the reports.
func steadily(changes, reports int, every time.Duration) []change {
	var all []change
	for i := range changes {
		all = append(all, change{time.Duration(i) * every, i % reports})
	}
	return all
}

// after returns the changes delayed by wait.
func after(wait time.Duration, changes []change) []change {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].at += wait
	}
	return changes
}

// paused returns the changes as if the API server pauses at the beginning of each period. The changes of a
// pause arrive together at its end.
func paused(changes []change, period, pause time.Duration) []change {
	changes = slices.Clone(changes)
	for i, c := range changes {
		changes[i].at = max(c.at, c.at.Truncate(period)+pause)
	}
	return changes
}

// atRandom returns as many changes over the same duration, at random times and of random reports.
func atRandom(changes, reports int, every time.Duration) []change {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]change, changes)
	for i := range all {
		all[i] = change{time.Duration(r.Int64N(int64(changes) * int64(every))), r.IntN(reports)}
	}
	return all
}

// outcome reports how the pacer handled the changes.
type outcome struct {
	writes  int
	longest time.Duration   // longest wait of a change
	tail    time.Duration   // from the last change to the last write
	waits   []time.Duration // of each change, in order of arrival
}

// quantile returns the wait that this part of the changes does not exceed.
func (o outcome) quantile(part float64) time.Duration {
	return slices.Sorted(slices.Values(o.waits))[int(part*float64(len(o.waits)-1))]
}

// player plays changes on a simulated clock. Each write begins as soon as it is due.
type player struct {
	*Pacer
	now     time.Time
	took    time.Duration // duration of a write
	came    []time.Time   // arrival of each change
	waiting map[int][]int // unwritten changes by report
	looks   map[int]time.Time
	carried int
	outcome
}

// play plays changes of reports. It fails the test unless each change is written.
func play(t *testing.T, took time.Duration, changes []change) outcome {
	t.Helper()
	all := slices.Clone(changes)
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	p := &player{
		Pacer: New(Limits{Interval: 500 * time.Millisecond}), now: noon, took: took,
		waiting: map[int][]int{}, looks: map[int]time.Time{}, outcome: outcome{waits: make([]time.Duration, len(all))},
	}
	for i, c := range all {
		p.until(noon.Add(c.at))
		p.now = noon.Add(c.at)
		p.came = append(p.came, p.now)
		p.waiting[c.report] = append(p.waiting[c.report], i)
		if wait, look := p.Changed(reportName(c.report), p.now); look {
			p.looks[c.report] = p.now.Add(wait)
		}
	}
	last := p.now
	p.until(last.Add(time.Hour))
	p.tail = p.now.Sub(last)
	if p.carried != len(all) {
		t.Errorf("%d of %d changes were written", p.carried, len(all))
	}
	return p.outcome
}

func reportName(report int) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: strconv.Itoa(report)}
}

// until handles the reports that are due before end, in the order of the queue.
func (p *player) until(end time.Time) {
	for len(p.looks) > 0 {
		next := slices.MinFunc(slices.Collect(maps.Keys(p.looks)), func(a, b int) int {
			return cmp.Or(p.looks[a].Compare(p.looks[b]), cmp.Compare(a, b))
		})
		if !p.looks[next].Before(end) {
			return
		}
		p.now = p.looks[next]
		b, wait := p.Take(reportName(next), p.now)
		if wait > 0 {
			p.looks[next] = p.now.Add(wait)
			continue
		}
		p.outcome.writes++
		p.carried += b.Changes
		for _, i := range p.waiting[next] {
			p.waits[i] = p.now.Sub(p.came[i])
			p.longest = max(p.longest, p.waits[i])
		}
		delete(p.looks, next)
		delete(p.waiting, next)
		p.Written(reportName(next), b, p.now.Add(p.took)) // other reports continue during the write
	}
}
