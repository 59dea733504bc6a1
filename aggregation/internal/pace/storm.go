// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import "time"

const (
	// stormRate is how many changes a second, over all reports, may go on for ever
	// without being a storm: five times what a busy fleet has.
	stormRate = 25
	// stormBegins is the level of the flood above which there is a storm: as many
	// changes at once, or stormRate exceeded by as many.
	stormBegins = 25
	// stormMost bounds the level, so that a storm is over as soon as nothing came for
	// (stormMost - stormBegins) / stormRate = 0.4 s. An API server at its limit
	// pauses for less; to take such a pause for the end would cost a write of every report.
	stormMost = 35
	// stormWaits and stormWaitsMost are how many intervals a storm may hold a report
	// back at least and at most, and stormShare is how many times as long as the
	// writes of the reports that wait take, between the two: see [Limits.patience].
	stormWaits = 6
	stormShare = 20
	// lookEvery is the time between two looks at reports that wait for the end of a storm: of
	// 10,000 each is looked at every four seconds, which is less than their writes take then.
	lookEvery = 400 * time.Microsecond
)

// flood is a leaky bucket: every change of any report adds one to its level, which
// falls by stormRate a second.
type flood struct {
	level float64
	at    time.Time // when the level was that
}

func (f *flood) add(now time.Time) {
	f.level = min(stormMost, f.now(now)+1)
	f.at = now
}

func (f *flood) now(now time.Time) float64 {
	return max(0, f.level-stormRate*now.Sub(f.at).Seconds())
}

// over returns when the storm is over if nothing else comes, 0 when there is none.
func (f *flood) over(now time.Time) time.Duration {
	excess := f.now(now) - stormBegins
	if excess <= 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(excess/stormRate*float64(time.Second)))
}

// patience returns how long a storm may hold changes back when one write of each
// report that waits takes so long, one after the other.
//
// What a write costs the API server grows with the report, not with what changed,
// so what a storm costs is a write of each report for each time that they are held
// back. That is to be a twentieth of the time, which leaves the rest to the changes
// themselves. Three seconds by default cost little with few or small reports; and
// people watch a storm, too, so fifteen is the most.
func (l Limits) patience(writes time.Duration) time.Duration {
	return min(max(stormShare*writes, stormWaits*l.Interval), stormWaitsMost*l.Interval)
}
