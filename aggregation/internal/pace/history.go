// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"time"
)

// Batch is the changes that one write carries; the zero Batch is none.
type Batch struct {
	Changes int
	First   time.Time // when the first of them arrived
}

// pending is a report's changes that are not written yet.
type pending struct {
	Batch
	due time.Time
	// stormed is true if a burst has delayed it.
	stormed bool
}

// history is what is remembered of a report.
type history struct {
	writtenAt time.Time     // when its last write was
	distance  time.Duration // that the next one keeps from it
	// latency is of the last write that succeeded, latencyBefore of the one before
	// it: a single one may have met a pause of the server.
	latency, latencyBefore time.Duration
}
