// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"time"
)

// Batch is the changes that one write carries. The zero Batch has no changes.
type Batch struct {
	Changes int
	First   time.Time // when the first of them arrived
}

// pending is a report's changes that are not written yet.
type pending struct {
	Batch
	due time.Time
	// burst is true if a burst has delayed it.
	burst bool
}

// history is the memory of a report.
type history struct {
	writtenAt time.Time     // when its last write was
	distance  time.Duration // that the next one keeps from it
	// latency is the duration of the last write that succeeded, latencyBefore of the previous one.
	// Both are needed, because a single write may have met a pause of the server.
	latency, latencyBefore time.Duration
}
