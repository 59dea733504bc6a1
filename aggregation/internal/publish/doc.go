// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish writes MulticlusterApplicationSetReports: only on the leader,
// only differences, and no more often than the size of a report, the pace of its
// changes and the changes of all other reports allow.
//
// What a write costs here does not grow with the report: it is a JSON patch of the
// rows that changed, against rows that are remembered as pointers, and neither the
// answer nor the watch carries the report's content. The content is read once,
// when this process first meets a report, and again when someone else changed it.
// The API server has to decode, check and store all of it for every write: that is
// what the pace spares.
package publish
