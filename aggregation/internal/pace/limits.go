// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import "time"

// Delay is the wait of a single change. Changes that belong together, such as the work and the row
// of one sync, arrive within this time, and a person does not notice it.
const Delay = 100 * time.Millisecond

// Limits are the settings of an operator.
type Limits struct {
	// Interval is the shortest time between the beginnings of two writes of a report. All other
	// times are multiples of it.
	Interval time.Duration
}

// distanceMost is how many intervals lie between the writes of a report that keeps changing.
const distanceMost = 4

// quiet is the number of intervals without a change after which changes no longer count as
// continuing.
const quiet = 8

// next returns the interval between this write and the next one. It doubles while changes continue,
// outside a burst.
func (l Limits) next(last history, now *pending) time.Duration {
	if last.distance == 0 || now.burst || now.First.Sub(last.writtenAt) > quiet*l.Interval {
		return l.Interval
	}
	return min(2*last.distance, distanceMost*l.Interval)
}

// wait returns the shortest delay of a change. Writes begin with an interval between them. It is at
// least twice as long as the last write took, because a slow write means that the server is busy.
// The delay is never longer than in a burst.
func (l Limits) wait(last history, now time.Time) time.Duration {
	if last.writtenAt.IsZero() {
		return Delay
	}
	distance := max(last.distance, min(2*min(last.latency, last.latencyBefore), burstWaitsMost*l.Interval))
	return max(Delay, distance-now.Sub(last.writtenAt))
}

const burstWaitsMost = 30
