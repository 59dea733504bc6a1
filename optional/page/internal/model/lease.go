// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "time"

// LeaseLimit is how long ago a controller that works has renewed its Lease at most: it does
// so every few seconds, and the page reads that four times a minute.
const LeaseLimit = time.Minute

// Lease is when a controller last said that it works.
type Lease struct {
	Controller string
	// Renewed is zero when there is no Lease.
	Renewed time.Time
}

// Old reports whether the controller seems not to work.
func (l Lease) Old(now time.Time) bool { return now.Sub(l.Renewed) > LeaseLimit }
