// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import "time"

// Delay is the wait of a lone change: what belongs together, such as the work and the row of
// one sync, comes within it, and a person does not notice it.
const Delay = 100 * time.Millisecond

// Limits are what an operator says about it.
type Limits struct {
	// Interval is the least time from the beginning of one write of a report to that of
	// the next. All else is a multiple of it.
	Interval time.Duration
}

// distanceMost is how many intervals lie between the writes of a report that keeps changing.
const distanceMost = 4

// quiet is for how many intervals after a write nothing comes when changes do not go on.
const quiet = 8

// next returns the distance that the write after this one has to keep from it. It doubles while
// changes go on, short of a storm.
func (l Limits) next(last history, now *pending) time.Duration {
	if last.distance == 0 || now.stormed || now.First.Sub(last.writtenAt) > quiet*l.Interval {
		return l.Interval
	}
	return min(2*last.distance, distanceMost*l.Interval)
}

// wait returns how long a change is held back at least. The beginnings of writes keep a distance,
// at least twice as long as the last one lasted, since a slow write means that the server has
// much to do. It is never longer than in a storm.
func (l Limits) wait(last history, now time.Time) time.Duration {
	if last.writtenAt.IsZero() {
		return Delay
	}
	distance := max(last.distance, min(2*min(last.latency, last.latencyBefore), stormWaitsMost*l.Interval))
	return max(Delay, distance-now.Sub(last.writtenAt))
}

const stormWaitsMost = 30
