// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import "time"

// Limits are what an operator says about it.
type Limits struct {
	// Delay is the wait of a lone change.
	Delay time.Duration
	// Interval is the least time from the beginning of one write of a report to that of
	// the next. All else is a multiple of it: in a trickle a change waits for up to
	// aloneMost intervals, in a storm for six to thirty.
	Interval time.Duration
}

const (
	// dear is the size of a report, in bytes, from which on a change waits for another one
	// for as long as it ever does; one of a smaller report waits for its share of that. A
	// write of as much, which is some 450 rows, costs the API server about as much as
	// all else that a change of one Application's status has it do.
	dear = 128 << 10
	// aloneMost is how many intervals a change of a dear report waits for another one, and
	// rowWithin for how many its row may be missing, the write included: where a write
	// takes longer than the difference, a change waits for less.
	aloneMost = 5.5
	rowWithin = 6
	// companyWaits is for how many intervals more changes are gathered once two of a dear
	// report wait. The larger the report, the longer, up to aloneMost.
	companyWaits = 1.4
	// spareMost is how many writes a report that was quiet has to spare: as many changes
	// of it are written at once. It has one again after spareAfter intervals, sooner
	// when it is less than dear. Two, since a sync is two changes: it began, and it is over.
	spareMost  = 2
	spareAfter = 16
)

// wait returns how long a change is held back at least. The beginnings of writes keep a distance:
// Interval, or twice what the last one took, since a write that takes long tells of
// a server that has much to do. It is never longer than in a storm.
func (l Limits) wait(last history, now time.Time) time.Duration {
	if last.begun.IsZero() {
		return l.Delay
	}
	distance := max(l.Interval, min(2*min(last.took, last.tookBefore), stormWaitsMost*l.Interval))
	return max(l.Delay, distance-now.Sub(last.begun))
}

// alone returns how long a change waits for another one when its report has no write to spare.
func (l Limits) alone(last history) time.Duration {
	took := min(last.took, last.tookBefore)
	most := min(times(l.Interval, aloneMost), max(0, rowWithin*l.Interval-took))
	return times(most, min(1, cost(last.bytes)))
}

// company returns how long two changes wait for more, if the first of them does not wait for less.
func (l Limits) company(bytes int) time.Duration {
	return times(l.Interval, companyWaits*cost(bytes))
}

// cost is what a write costs, as a part of one of a dear report.
func cost(bytes int) float64 { return float64(bytes) / dear }

func times(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// spent is how many of its writes to spare a report has used up.
type spent struct {
	level float64
	at    time.Time // when it was that
}

// now returns the level, which falls by one each spareAfter intervals.
func (s spent) now(l Limits, bytes int, now time.Time) float64 {
	if s.level == 0 {
		return 0
	}
	each := times(l.Interval, spareAfter*min(1, cost(bytes)))
	if each <= 0 {
		return 0
	}
	return max(0, s.level-float64(now.Sub(s.at))/float64(each))
}

// write takes a write away, also where there is none to spare.
func (s *spent) write(l Limits, bytes int, now time.Time) {
	s.level = min(spareMost, s.now(l, bytes, now)+1)
	s.at = now
}
