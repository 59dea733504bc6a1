// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish writes MulticlusterApplicationSetReports: only on the leader,
// only what differs from what is there, and no more often than the size of a report,
// the rate of its changes and the changes of all other reports allow.
//
// A write replaces the whole report. It costs the API server, which has to decode,
// check and store all of it for every write anyway, a quarter less than a patch of
// the rows that changed: a patch has it encode and decode the old report once more.
// Package pace says when a report is due, which spares it writes. Neither the answer nor the watch carries the content;
// it is read once, when this process first meets a report, and again when another
// client changed it.
package publish
