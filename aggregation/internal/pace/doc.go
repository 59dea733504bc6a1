// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pace says when a report is due.
//
// A write of a report costs the API server what the report is large, however little
// of it changed, so changes of a report share writes. How long they are gathered
// depends on what comes:
//
//   - a lone change is written at once;
//   - while changes go on, writes of a report keep a distance that doubles, up to four
//     intervals;
//   - in a storm, which is more than stormRate changes a second over all reports,
//     every report waits until it is over, or for as long as its writes are worth.
//
// It is pure: the caller passes the time.
package pace
