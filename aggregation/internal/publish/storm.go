// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

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
	// stormWaits is how many times Max a storm in one report may hold it back, and
	// stormWaitsMost the same when it is in several reports: see [Pace.patience].
	stormWaits     = 6
	stormWaitsMost = 18
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

// patience returns how long a storm may hold changes back when so many reports wait.
//
// What a write costs the API server grows with the report, not with what changed,
// so what a storm costs is the number of reports for each time that they are held
// back. One that is alone is worth a write every six times Max. More of them wait
// longer, so that together they cost what the one does; but from three on no longer
// than eighteen times Max (9 s by default), since people watch a storm, too.
func (p Pace) patience(reports int) time.Duration {
	return p.Max * time.Duration(min(stormWaits*reports, stormWaitsMost))
}
