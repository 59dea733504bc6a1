// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "time"

// LeaseLimit is the highest age of a renewal by a running controller. A controller renews its Lease
// every few seconds, and the page reads it four times a minute.
const LeaseLimit = time.Minute

// Lease is the last renewal of a controller's Lease.
type Lease struct {
	Controller string
	// Renewed is zero if the Lease does not exist.
	Renewed time.Time
}

// Old reports whether the controller seems not to be running.
func (l Lease) Old(now time.Time) bool { return now.Sub(l.Renewed) > LeaseLimit }
