// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import "time"

const (
	// burstRate is the rate of changes per second, over all reports, that may continue without
	// counting as a burst. It is five times the rate of a busy fleet.
	burstRate = 25
	// burstBegins is the level at which a burst begins: so many changes at once, or so many more
	// than burstRate.
	burstBegins = 25
	// burstMost limits the level, so that a burst is over after (burstMost - burstBegins) /
	// burstRate = 0.4 s without a change. An API server at its limit pauses for less. Taking such a
	// pause for the end would cost a write of every report.
	burstMost = 35
	// burstWaits and burstWaitsMost are the fewest and the most intervals for which a burst may
	// delay a report. In between, the delay is burstShare times the duration of the writes of the
	// waiting reports (see [Limits.patience]).
	burstWaits = 6
	burstShare = 20
	// checkEvery is the time between two checks of reports that wait for the end of a burst. With
	// 10,000 reports, each is checked every four seconds, which is less than their writes take
	// then.
	checkEvery = 400 * time.Microsecond
)

// flood is a leaky bucket: every change of any report adds one to its level, which
// falls by burstRate a second.
type flood struct {
	level float64
	at    time.Time // when the level was that
}

func (f *flood) add(now time.Time) {
	f.level = min(burstMost, f.now(now)+1)
	f.at = now
}

func (f *flood) now(now time.Time) float64 {
	return max(0, f.level-burstRate*now.Sub(f.at).Seconds())
}

// over returns when the burst is over without further changes, or 0 if no burst is in progress.
func (f *flood) over(now time.Time) time.Duration {
	excess := f.now(now) - burstBegins
	if excess <= 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(excess/burstRate*float64(time.Second)))
}

// patience returns how long a burst may delay changes. writes is the duration of one write of each waiting report,
// one after the other.
//
// The cost of a write depends on the size of the report and not on the changes. So a burst costs one write of each
// report for each delay. The writes should take a twentieth of the time, so that the changes themselves have the
// rest. The default of three seconds costs little with few or small reports. People also watch a burst, so fifteen
// seconds is the longest delay.
func (l Limits) patience(writes time.Duration) time.Duration {
	return min(max(burstShare*writes, burstWaits*l.Interval), burstWaitsMost*l.Interval)
}
