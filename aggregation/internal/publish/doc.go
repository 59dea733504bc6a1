// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish writes MulticlusterApplicationSetReports. Only the leader writes, and only if a report differs. The
// interval between writes depends on the size of a report, the rate of its changes and the changes of all other
// reports (see package pace).
//
// A write replaces the whole report. Such a write costs the API server a quarter less than a patch of the changed
// rows. The API server has to decode, check and store the whole report for every write anyway. For a patch, it
// encodes and decodes the old report once more. Neither the response nor the watch carries the content. The content
// is read once, when this process first finds a report, and again after a write of another client.
package publish
