// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pace computes when a report is due.
//
// A write of a report costs the API server as much as the report is large, however little of it has changed. So
// changes of a report share writes. How long they are gathered depends on their rate:
//
//   - A single change is written at once.
//   - While changes continue, the interval between the writes of a report doubles, up to four intervals.
//   - A burst has more than burstRate changes a second over all reports. In a burst, every report waits until the
//     burst is over, or for a time that depends on the cost of the writes.
//
// It is pure: the caller passes the time.
package pace
